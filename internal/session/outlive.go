package session

import (
	"context"
	"os"
	"os/signal"
	"syscall"
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
// The returned function stops it all; the goroutine ends with the context. The
// channel has room for a signal of each kind, because Notify does not wait.
func Outlive() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
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
