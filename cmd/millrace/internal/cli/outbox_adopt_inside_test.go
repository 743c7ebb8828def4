package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

// upgraded is a log that adopts, or returns an error.
type upgraded struct {
	err   error
	calls int
}

func (u *upgraded) Adopt(context.Context) error {
	u.calls++
	return u.err
}

// A refusal of one log does not stop the others; the code, the reason and the next step are
// reported.
func TestAdoptRefused(t *testing.T) {
	good, bad := &upgraded{}, &upgraded{err: errors.New("rows hold transaction 900, and the server has yet to give it out")}
	logs := []database.Log{{Name: "outbox (cursor)", Adopter: bad}, {Name: "transport", Adopter: good}, {Name: "counters"}}
	adopt := func(asJSON, asks, yes bool, answer string) (string, string, error) {
		var out, errs bytes.Buffer
		a := &app{Streams: Streams{In: strings.NewReader(answer), Out: &out, Err: &errs, Asks: asks, Env: func(string) string { return "" }}, json: asJSON, yes: yes}
		err := a.adopt(t.Context(), logs)
		return out.String(), errs.String(), err
	}
	if _, _, err := adopt(false, false, false, ""); err == nil || !strings.Contains(err.Error(), "--yes") || bad.calls+good.calls > 0 {
		t.Errorf("without an answer: %v, %d calls", err, bad.calls+good.calls)
	}
	if _, asked, err := adopt(false, true, false, "n\n"); err == nil || !strings.Contains(asked, "outbox (cursor), transport as they are") || bad.calls+good.calls > 0 {
		t.Errorf("with a no: %v, asked %q, %d calls", err, asked, bad.calls+good.calls)
	}
	out, errs, err := adopt(false, true, false, "y\n")
	if !errors.Is(err, errWrong) || bad.calls != 1 || good.calls != 1 {
		t.Errorf("with a yes: %v, %d and %d calls", err, bad.calls, good.calls)
	}
	for _, want := range []string{
		"outbox (cursor): refused: rows hold transaction 900", "transport: adopted", "counters: positions travel with the data",
		"not adopted: 1 of 3", "outbox rebase --since TIME",
	} {
		assert.Containsf(t, out+errs, want, "%q is missing in\n%s%s", want, out, errs)
	}
	out, _, err = adopt(true, false, true, "")
	var r adoptReport
	if jerr := json.Unmarshal([]byte(out), &r); jerr != nil || !errors.Is(err, errWrong) || len(r.Logs) != 3 ||
		r.Logs[0].Error == "" || r.Logs[0].Adopted || !r.Logs[1].Adopted || r.Logs[2].Adopted || r.Logs[2].Error != "" {
		t.Errorf("as JSON: %v, %v, %s", err, jerr, out)
	}
}

// Ctrl-C in the middle: what was adopted by then is told.
func TestAdoptInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	a := &app{Streams: Streams{Out: &out, Err: &errs}, yes: true}
	err := a.adopt(ctx, []database.Log{{Name: "outbox (cursor)", Adopter: &upgraded{}}, {Name: "transport", Adopter: cancelling(cancel)}, {Name: "counters", Adopter: &upgraded{}}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "outbox (cursor): adopted") || strings.Contains(out.String(), "counters") {
		t.Errorf("%v, and it says %q", err, out.String())
	}
}

// cancelling is interrupted while it adopts.
type cancelling func()

func (c cancelling) Adopt(ctx context.Context) error { c(); return ctx.Err() }
