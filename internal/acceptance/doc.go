// Package acceptance holds end-to-end tests: they run the built command as a
// user does and look only at what a user sees. It has no code of its own.
//
// In a nutshell: TestMain builds alleria once. The transparency tests run real
// commands (commands_test.go) natively and under each mode (modes_test.go) and
// compare output, status and files. The fixture tests build the programs of
// testdata/programs, which say in their first lines what is expected of them,
// and do the same. The rest feeds alleria bad input and hostile circumstances.
// Whatever was written to disk must pass "alleria verify".
//
// "go test ./internal/acceptance" calls it, nothing imports it. Tests run in
// parallel, each in a directory of its own; what they share (the binary, built fixtures) is
// made once and not changed afterwards. It doesn't judge what a profile says,
// only that it is sound: entries are compared with oracles next to the engine.
package acceptance
