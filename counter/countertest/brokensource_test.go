package countertest_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/millrace-go/millrace/counter/countertest"
	"github.com/millrace-go/millrace/counter/driver"
)

// ledger is a source with ids that are assigned before the commit, and places after it.
type ledger struct {
	rows    []*row
	places  int
	read    func(l *ledger, after, limit int) ([]*row, int) // a defect
	trimmed func(l *ledger, applied int, age time.Duration)
}

type row struct {
	driver.Change
	id, place int // place 0: not committed
	gone      bool
}

func (l *ledger) begin(c driver.Change) *row {
	r := &row{Change: c, id: len(l.rows) + 1}
	l.rows = append(l.rows, r)
	return r
}

func (l *ledger) commit(r *row) { l.places++; r.place = l.places }

// behind returns the rows after a position, in their order.
func (l *ledger) behind(after int, order func(r *row) int) []*row {
	var out []*row
	for _, r := range l.rows {
		if order(r) > after && !r.gone {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *row) int { return cmp.Compare(order(a), order(b)) })
	return out
}

func byPlace(r *row) int { return r.place }

func correct(l *ledger, after, limit int) ([]*row, int) {
	out := l.behind(after, byPlace)
	out = out[:min(limit, len(out))]
	if len(out) > 0 {
		after = out[len(out)-1].place
	}
	return out, after
}

func (l *ledger) Read(_ context.Context, after string, limit int) ([]driver.Change, string, error) {
	at := 0
	if after != "" {
		var err error
		if at, err = strconv.Atoi(after); err != nil {
			return nil, after, err
		}
	}
	do := l.read
	if do == nil {
		do = correct
	}
	rows, next := do(l, at, limit)
	var out []driver.Change
	for _, r := range rows {
		out = append(out, r.Change)
	}
	return out, strconv.Itoa(next), nil
}

func (l *ledger) Trim(_ context.Context, applied string, age time.Duration, _ int) (int, error) {
	at, err := strconv.Atoi(applied)
	if err != nil {
		return 0, err
	}
	if l.trimmed != nil {
		l.trimmed(l, at, age)
	}
	return 0, nil
}

func (l *ledger) harness() countertest.SourceHarness {
	return countertest.SourceHarness{
		Source: l,
		Append: func(_ context.Context, changes ...driver.Change) error {
			for _, c := range changes {
				l.commit(l.begin(c))
			}
			return nil
		},
		Begin: func(_ context.Context, c driver.Change) (commit, rollback func() error, err error) {
			r := l.begin(c)
			return func() error { l.commit(r); return nil }, func() error { r.gone = true; return nil }, nil
		},
	}
}

func TestCorrectLedger(t *testing.T) {
	countertest.RunSource(t, func(*testing.T) countertest.SourceHarness { return new(ledger).harness() })
}

func TestBrokenSources(t *testing.T) {
	defects := map[[2]string]ledger{
		{"ends at its first end", "Empty"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			out, next := correct(l, after, limit)
			return out, next + 1
		}},
		{"reads backwards", "InOrder"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			out, next := correct(l, after, limit)
			slices.Reverse(out)
			return out, next
		}},
		{"reads twice", "InOrder"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			out, _ := correct(l, after, limit)
			return out, after + len(out)/2
		}},
		{"reads more than asked for", "InOrder"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			return correct(l, after, limit+1)
		}},
		{"stops short", "InOrder"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			return correct(l, after, max(1, limit-1))
		}},
		{"reads by id", "LateCommit"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			var out []*row
			for _, r := range l.behind(after, func(r *row) int { return r.id }) {
				if r.place > 0 && len(out) < limit {
					out, after = append(out, r), r.id
				}
			}
			return out, after
		}},
		{"reads what is not committed", "RolledBack"}: {read: func(l *ledger, after, limit int) ([]*row, int) {
			out := slices.Clone(l.rows[min(after, len(l.rows)):])
			return out[:min(limit, len(out))], after + min(limit, len(out))
		}},
		{"drops what is not applied", "Trim"}: {trimmed: func(l *ledger, _ int, age time.Duration) {
			for _, r := range l.rows {
				r.gone = r.gone || age == 0
			}
		}},
	}
	var all []defect[countertest.SourceHarness]
	for names, l := range defects {
		all = append(all, defect[countertest.SourceHarness]{names[0], names[1], l.harness})
	}
	broken(t, countertest.SourceCases(), all)
}
