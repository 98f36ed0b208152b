package session

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"alleria/internal/sys"
)

// Outlive keeps the signals that a terminal sends to the whole foreground group
// from ending us before the target, which gets them too and decides. Being
// asked to end, or losing the terminal, cancels the context: the profile is
// closed properly.
//
// Notify and not Ignore: an ignored signal would stay ignored in the target.
// A signal that alleria was started with ignored is left that way, as nohup's
// users expect.
//
// Any other signal that a program sends to its process group, and handles, comes to us as well. Faults of our own are no signals that anybody has sent: these
// end us as before.
//
// The returned function stops it all but that; the goroutine ends with the context. The
// channel has room for a signal of each kind, because Notify does not wait.
func Outlive() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	sys.Unharmed(toGroup())
	go func() {
		for {
			select {
			case s := <-got:
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		cancel()
	}
}

// toGroup is those of these signals that would end us, or have the runtime end us: all but those that only stop, or do nothing, or that are somebody's own here.
func toGroup() (sent []syscall.Signal) {
	const last, ticks = 64, 59 // what internal/sys ends waits with
	for s := syscall.Signal(1); s <= last; s++ {
		switch s {
		case syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT: // see Outlive
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT:
		case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGPIPE, syscall.SIGPROF:
		case 32, 33, ticks: // threads' of the C library
		default:
			sent = append(sent, s)
		}
	}
	return sent
}
