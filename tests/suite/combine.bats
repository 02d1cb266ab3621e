# What comes out of options and keys of config files in combinations.

load helper

pairs() { "$TESTS_DIR/combine/alone" "$ZKFLOCK_BUILD" --part "$1"; }

@test "all pairs of options and keys, at locks of all kinds, the first quarter" {
  pairs 1/4
}

@test "the second quarter of the pairs" {
  pairs 2/4
}

@test "the third quarter of the pairs" {
  pairs 3/4
}

@test "the last quarter of the pairs" {
  pairs 4/4
}
