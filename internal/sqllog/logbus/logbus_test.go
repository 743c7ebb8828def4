package logbus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTranslate(t *testing.T) {
	busy, bad := errors.New("deadlock"), errors.New("constraint")
	d := &Driver{parts: Parts{Name: "xbus", Classify: func(err error) fault.Class {
		switch {
		case errors.Is(err, busy):
			return fault.Transient
		case errors.Is(err, bad):
			return fault.Permanent
		}
		return fault.Unclassified
	}}}
	if d.translate(nil) != nil {
		t.Error("no error became one")
	}
	if err := d.translate(fmt.Errorf("x: %w", logsub.ErrClosed)); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("a closed hub: %v", err)
	}
	for _, tc := range []struct {
		err  error
		want fault.Class
	}{
		{fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Infrastructure},
		{fmt.Errorf("x: %w", busy), fault.Transient},
		{fmt.Errorf("x: %w", bad), fault.Permanent},
		{fault.MarkPermanent(errors.New("x")), fault.Permanent},
		{errors.New("x"), fault.Transient}, // what nobody knows
	} {
		err := d.translate(tc.err)
		if got := fault.Of(err); got != tc.want || !strings.HasPrefix(err.Error(), "xbus: ") {
			t.Errorf("%v: %v (%v), want %v", tc.err, err, got, tc.want)
		}
	}
}

// Whatever makes Open fail, what the transport's package opened is closed.
func TestOpenFails(t *testing.T) {
	_, db := servicetest.SQLite(t)
	whole := fstest.MapFS{}
	for _, name := range []string{"topics", "topic", "ensure_topic", "groups", "beat", "bury", "members", "leave", "position", "browse"} {
		whole[name+".sql"] = &fstest.MapFile{Data: []byte("SELECT nothing FROM nowhere")}
	}
	part := fstest.MapFS{"topics.sql": whole["topics.sql"]}
	for name, p := range map[string]Parts{
		"a statement is missing": {SQL: part},
		"no log":                 {SQL: whole},
	} {
		closed := false
		p.Name, p.DB = "xbus", db
		p.Classify = func(error) fault.Class { return fault.Infrastructure }
		p.Close = func() error { closed = true; return nil }
		d, err := Open(p, logsub.Config{})
		if err == nil {
			d.Close()
			t.Errorf("%s: opened", name)
		}
		if !closed {
			t.Errorf("%s: what was opened stays open: %v", name, err)
		}
		if name == "a statement is missing" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
