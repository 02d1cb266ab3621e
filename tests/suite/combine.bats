# What comes out of options and keys of config files in combinations.

load helper

pairs() { "$TESTS_DIR/combine/alone" "$ZKFLOCK_BUILD" --part "$1"; }

@test "all pairs of options and keys, at locks of all kinds, the first eighth" {
  pairs 1/8
}

@test "the second eighth of the pairs" {
  pairs 2/8
}

@test "the third eighth of the pairs" {
  pairs 3/8
}

@test "the fourth eighth of the pairs" {
  pairs 4/8
}

@test "the fifth eighth of the pairs" {
  pairs 5/8
}

@test "the sixth eighth of the pairs" {
  pairs 6/8
}

@test "the seventh eighth of the pairs" {
  pairs 7/8
}

@test "the last eighth of the pairs" {
  pairs 8/8
}
