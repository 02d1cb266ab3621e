# Once per run: a standalone server and an ensemble of three, for all tests.

setup_suite() {
  bats_require_minimum_version 1.8.0
  SUITE_DIR=$(mktemp -d)
  export SUITE_DIR
  "$BATS_TEST_DIRNAME/../ensemble" start "$SUITE_DIR/one"
  "$BATS_TEST_DIRNAME/../ensemble" start "$SUITE_DIR/three" 3
}

teardown_suite() {
  "$BATS_TEST_DIRNAME/../ensemble" stop "$SUITE_DIR/one"
  "$BATS_TEST_DIRNAME/../ensemble" stop "$SUITE_DIR/three"
  rm -rf "$SUITE_DIR"
}
