package logtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sqltx"
)

func readCases() []testCase {
	return []testCase{
		{Name: "Fields", Run: fields},
		{Name: "Order", Run: order},
		{Name: "Resume", Run: resume},
		{Name: "Lanes", Run: lanes},
		{Name: "Uncommitted", Run: uncommitted},
	}
}

func fields(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	want := []log.Entry{
		{Lane: 1, Topic: "t", MessageID: "1", Key: "k", Headers: `{"h":"v"}`, Payload: []byte("p"), Labels: []string{"a", "b"}},
		{Lane: 1, Topic: "t", MessageID: "2", Payload: nil, Labels: []string{"", ""}},
		{Lane: 1, Topic: "예약.events", MessageID: "좌석 ✓", Key: "회원'\"\\", Headers: `{"이름":"값"}`,
			Payload: []byte{0, 1, 0xff, 0xfe, '\'', 0}, Labels: []string{"종류", "';--"}},
		{Lane: 1, Topic: "t", MessageID: "big", Payload: bytes.Repeat([]byte("x"), 1<<20), Labels: []string{"", ""}},
	}
	before := time.Now().Add(-time.Minute)
	steps.Do(f.append(ctx, want...))
	steps.Named(f.Log.Append(ctx, nil, nil), "appending nothing")
	got, _ := steps.Two(f.Log.Read(ctx, 1, log.Position{}, 10))
	if len(got) != len(want) {
		return fmt.Errorf("read %d entries, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.Lane != w.Lane || g.Topic != w.Topic || g.MessageID != w.MessageID || g.Key != w.Key || g.Headers != w.Headers {
			return fmt.Errorf("entry %d came back as %.200v", i, g)
		}
		if !bytes.Equal(g.Payload, w.Payload) {
			return fmt.Errorf("entry %d: the payload changed, %d bytes became %d", i, len(w.Payload), len(g.Payload))
		}
		if g.ID == 0 || g.Position == (log.Position{}) {
			return fmt.Errorf("entry %d has no id or position: %.200v", i, g)
		}
		if g.CreatedAt.Before(before) || g.CreatedAt.After(time.Now().Add(time.Minute)) {
			return fmt.Errorf("entry %d was created at %v, now is %v", i, g.CreatedAt, time.Now())
		}
	}
	var kind string
	steps.Do(f.DB.QueryRowContext(ctx, `SELECT kind FROM suite_messages WHERE message_id = '1'`).Scan(&kind))
	if kind != "a" {
		return fmt.Errorf("the label column holds %q, want \"a\"", kind)
	}
	if err := f.append(ctx, log.Entry{Lane: 1, Topic: "t", MessageID: "3", Labels: []string{"only one"}}); err == nil {
		return errors.New("an entry with too few labels was accepted")
	}
	return nil
}

// order reads 1,500 entries, appended in batches of odd sizes, in pages.
func order(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	const total = 1500
	var want []string
	for size := 1; len(want) < total; size = size*3 + 1 {
		var batch []string
		for range min(size, total-len(want)) {
			batch = append(batch, strconv.Itoa(len(want)+len(batch)))
		}
		steps.Do(f.add(ctx, 1, batch...))
		want = append(want, batch...)
	}
	var got []string
	var at log.Position
	for {
		page, next := steps.Two(f.read(ctx, 1, at, 400))
		if len(page) > 400 {
			return fmt.Errorf("asked for 400 entries and got %d", len(page))
		}
		if len(page) == 0 {
			break
		}
		got, at = append(got, page...), next
	}
	if len(got) != total {
		return fmt.Errorf("read %d entries of %d", len(got), total)
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("entry %d is %s", i, got[i])
		}
	}
	return nil
}

// resume continues from every position that a read can return.
func resume(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	empty := steps.Get(f.wantRead(ctx, 1, log.Position{}, 10))
	steps.Do(f.add(ctx, 1, "a", "b", "c", "d"))
	if _, err := f.wantRead(ctx, 1, empty, 10, "a", "b", "c", "d"); err != nil {
		return fmt.Errorf("from where an empty log was read: %w", err)
	}
	all, _ := steps.Two(f.Log.Read(ctx, 1, log.Position{}, 10))
	for i, e := range all {
		if _, err := f.wantRead(ctx, 1, e.Position, 10, ids(all[i+1:])...); err != nil {
			return fmt.Errorf("after %s: %w", e.MessageID, err)
		}
	}
	end := steps.Get(f.wantRead(ctx, 1, all[3].Position, 10))
	steps.Do(f.add(ctx, 1, "e"))
	if _, err := f.wantRead(ctx, 1, end, 10, "e"); err != nil {
		return fmt.Errorf("from the end: %w", err)
	}
	_, err = f.wantRead(ctx, 1, all[1].Position, 2, "c", "d")
	return err
}

func lanes(ctx context.Context, f *Fixture) error {
	if err := f.append(ctx, entry(1, "a1"), entry(2, "b1"), entry(1, "a2"), entry(0, "c1"), entry(2, "b2")); err != nil {
		return err
	}
	for lane, want := range map[int][]string{0: {"c1"}, 1: {"a1", "a2"}, 2: {"b1", "b2"}, 3: {}} {
		if _, err := f.wantRead(ctx, lane, log.Position{}, 10, want...); err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
	}
	return nil
}

func uncommitted(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	steps.Do(f.add(ctx, 1, "a"))
	stop := errors.New("roll back")
	if err := sqltx.Do(ctx, f.DB, func(ctx context.Context, tx *sql.Tx) error {
		if err := f.Log.Append(ctx, tx, []log.Entry{entry(1, "never")}); err != nil {
			return err
		}
		return stop
	}); !errors.Is(err, stop) {
		return err
	}
	steps.Do(f.add(ctx, 1, "b"))
	_, err = f.wantRead(ctx, 1, log.Position{}, 10, "a", "b")
	return err
}
