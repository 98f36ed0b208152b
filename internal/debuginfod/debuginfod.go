// Package debuginfod asks debuginfod servers for separate debug files, for commands that look for names and lines of source
// (internal/symbols calls it through its Fetcher).
//
// It is a package of its own so that what only runs programs is linked without a client of HTTP, whose libraries' initialisation is a part of each start.
// A Client may be used by several goroutines. It knows no other artefacts than debug files, and never asks where DEBUGINFOD_URLS is empty.
package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"alleria/internal/symbols"
)

const (
	// answerTimeout bounds the wait for a server's first byte. elfutils waits
	// 90 s; here a program waits for its tracer.
	answerTimeout = 3 * time.Second
	// fetchTimeout bounds one download.
	fetchTimeout = 60 * time.Second
	// missTime is for how long a "no" is believed without asking again, as in
	// elfutils.
	missTime = 10 * time.Minute
	// maxDebugInfo bounds a download; a browser's debug file has 3 GiB.
	maxDebugInfo = 4 << 30
)

// Client is a client of debuginfod servers. Its cache has the layout of
// elfutils' client, and by default the place, so that what gdb fetched is not
// fetched again, nor the other way round.
// Servers are asked in the order of URLs. The fields must not change once it is used.
type Client struct {
	URLs  []string // servers
	Cache string   // a directory, made when needed
	HTTP  *http.Client

	mu   sync.Mutex
	dead map[string]bool // servers that did not answer; guarded by mu
}

// FromEnv makes the client that the environment asks for: servers from
// DEBUGINFOD_URLS, nil without any; the cache in DEBUGINFOD_CACHE_PATH or else
// in the user's cache directory.
func FromEnv() symbols.Fetcher {
	urls := strings.Fields(os.Getenv("DEBUGINFOD_URLS"))
	if len(urls) == 0 {
		return nil
	}
	cache := os.Getenv("DEBUGINFOD_CACHE_PATH")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil // nowhere to put a file
		}
		cache = filepath.Join(dir, "debuginfod_client")
	}
	return New(urls, cache)
}

// New makes a client with short timeouts.
func New(urls []string, cache string) *Client {
	dial := net.Dialer{Timeout: answerTimeout}
	return &Client{
		URLs: urls, Cache: cache, dead: make(map[string]bool),
		HTTP: &http.Client{
			Timeout: fetchTimeout,
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: dial.DialContext,
				ResponseHeaderTimeout: answerTimeout, TLSHandshakeTimeout: answerTimeout,
			},
		},
	}
}

// DebugInfo implements symbols.Fetcher.
//
// Servers are asked one after the other. One that does not answer is not asked again by
// this client: a run has hundreds of images, and each would wait for it.
func (d *Client) DebugInfo(ctx context.Context, buildID string) (string, error) {
	if !hexadecimal(buildID) {
		return "", fmt.Errorf("build-id %q: %w", buildID, symbols.ErrNoDebugInfo)
	}
	// elfutils' layout: a directory for each build-id, a file for each artefact.
	path := filepath.Join(d.Cache, buildID, "debuginfo")
	if st, err := os.Stat(path); err == nil {
		if st.Size() > 0 {
			return path, nil
		}
		// An empty file remembers that nobody had it.
		if time.Since(st.ModTime()) < missTime {
			return "", symbols.ErrNoDebugInfo
		}
	}
	var errs error
	for _, url := range d.URLs {
		if d.isDead(url) {
			continue
		}
		err := d.fetch(ctx, strings.TrimRight(url, "/")+"/buildid/"+buildID+"/debuginfo", path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, symbols.ErrNoDebugInfo) {
			// One silent server must not cost every image its timeout.
			d.setDead(url)
			errs = errors.Join(errs, err)
		}
	}
	if errs != nil {
		return "", errs
	}
	return "", d.remember(path)
}

// hexadecimal guards the cache path and the URL against anything else.
func hexadecimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == ""
}

// isDead reports whether a server has failed before.
func (d *Client) isDead(url string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead[url]
}

// setDead has a server left out from here on.
func (d *Client) setDead(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead == nil {
		d.dead = make(map[string]bool)
	}
	d.dead[url] = true
}

// remember notes a miss in the cache; where that can't be written, it is asked
// again the next time. Servers that are down say nothing about the file, so a
// round in which one was is not remembered.
func (d *Client) remember(path string) error {
	// Guarded separately from the download, which must not hold up other images.
	d.mu.Lock()
	complete := len(d.dead) == 0
	d.mu.Unlock()
	if complete && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err == nil {
			f.Close()
			now := time.Now()
			os.Chtimes(path, now, now) // the file may have been there, and old
		}
	}
	return symbols.ErrNoDebugInfo
}

// fetch downloads one URL to path. The file appears complete or not at all:
// other clients read the same cache.
func (d *Client) fetch(ctx context.Context, url, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("debuginfod: %w", err)
	}
	client := d.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("debuginfod: %w", err)
	}
	defer res.Body.Close()
	switch {
	// The one definite "no"; anything else is the server's trouble.
	case res.StatusCode == http.StatusNotFound:
		return symbols.ErrNoDebugInfo
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("debuginfod: %s: %s", url, res.Status)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("debuginfod cache: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "debuginfo.*")
	if err != nil {
		return fmt.Errorf("debuginfod cache: %w", err)
	}
	defer os.Remove(tmp.Name())
	// One byte short of the limit is the most that is accepted: at the limit it
	// can't be told from what was cut off.
	n, err := io.Copy(tmp, io.LimitReader(res.Body, maxDebugInfo))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("debuginfod: %s: %w", url, err)
	}
	if n == maxDebugInfo || n == 0 || res.ContentLength >= 0 && n != res.ContentLength {
		return fmt.Errorf("debuginfod: %s: %w", url, io.ErrUnexpectedEOF)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("debuginfod cache: %w", err)
	}
	return nil
}
