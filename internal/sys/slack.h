/* What the program was started with: see slack_cgo.go. */
extern long alleria_slack;
