package crowd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// streamPath is where the live stream is.
const streamPath = "/api/notifications/stream"

// maxLine bounds a line of a stream.
const maxLine = 1 << 20

// errStreamOver ends a stream that the server has closed for good.
var errStreamOver = errors.New("the stream is over")

// listener is a fan's tab with a live stream, which reconnects as a browser's does.
// One goroutine owns it.
type listener struct {
	fan  *fan
	told *Stream
	last string        // id to come back with
	wait time.Duration // before reconnecting; set by the server
	seen map[string]bool
}

// listen keeps the stream open until ctx ends.
func (l *listener) listen(ctx context.Context) {
	// A client's timeout would end the stream.
	client := &http.Client{Transport: l.fan.client.HTTP.Transport}
	for fails := 0; ctx.Err() == nil; {
		l.seen = map[string]bool{}
		opened, err := l.open(ctx, client)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errStreamOver) {
			l.fan.crowd.violate("the stream of %s: %v", l.fan.rec.Member, err)
			return
		}
		l.fan.crowd.meter.Count(countReopened)
		if fails++; opened {
			fails = 0
		}
		if Sleep(ctx, max(20*time.Millisecond<<min(fails, 4), l.wait)) != nil {
			return
		}
	}
}

// open opens the stream once and reads it to its end.
func (l *listener) open(ctx context.Context, client *http.Client) (opened bool, err error) {
	address := l.fan.client.next() + streamPath + "?tab=" + url.QueryEscape(l.fan.rec.Member)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+l.fan.rec.Token)
	req.Header.Set("Accept", "text/event-stream")
	if l.last != "" {
		req.Header.Set("Last-Event-ID", l.last)
	}
	start := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close() //nolint:errcheck // a stream is left, not read to its end
	l.fan.client.count(countAnswered)
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError:
		return false, nil
	case res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"):
		return false, fmt.Errorf("%w: it was answered with %d %s", errStreamOver, res.StatusCode, res.Header.Get("Content-Type"))
	}
	l.fan.crowd.meter.Observe("open stream", time.Since(start))
	l.told.Opened++
	return true, l.read(res.Body)
}

// frame is an event of a stream.
type frame struct{ name, id, data string }

// read reads events until the stream breaks.
func (l *listener) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	f := frame{id: l.last}
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			l.last = f.id
			if err := l.heard(f); err != nil {
				return err
			}
			f = frame{id: l.last}
		case field == "event":
			f.name = value
		case field == "id":
			f.id = value
		case field == "data":
			f.data += value
		case field == "retry":
			ms, _ := strconv.Atoi(value) // no number: our own pace
			l.wait = min(time.Duration(ms)*time.Millisecond, time.Second)
		}
	}
	return lines.Err()
}

// heard records an event.
func (l *listener) heard(f frame) error {
	switch f.name {
	case "notification":
		var n Notice
		if err := json.Unmarshal([]byte(f.data), &n); err != nil || n.ID == "" {
			return fmt.Errorf("%w: the notification %q says %q", errStreamOver, f.id, f.data)
		}
		if l.first("notification", n.ID) && !l.told.has(n.ID) {
			l.told.Notices = append(l.told.Notices, n.ID)
			l.fan.crowd.meter.Count(countNotice)
		}
	case "chat":
		_, id, _ := strings.Cut(f.id, ";chat=")
		var said struct{ RoomID string }
		if err := json.Unmarshal([]byte(f.data), &said); err != nil || id == "" || said.RoomID == "" {
			return fmt.Errorf("%w: the chat event %q says %q", errStreamOver, f.id, f.data)
		}
		if l.first("chat", id) {
			l.fan.crowd.alerts.add(id, said.RoomID)
		}
	case "evicted":
		return fmt.Errorf("%w: it was evicted, and is the member's only one", errStreamOver)
	}
	return nil
}

// first reports whether this stream has the event for the first time. A reconnected
// stream is another one, and may repeat the last events of the one before.
func (l *listener) first(name, id string) bool {
	key := name + " " + id
	if l.seen[key] {
		l.told.Twice = append(l.told.Twice, key)
		return false
	}
	l.seen[key] = true
	return true
}
