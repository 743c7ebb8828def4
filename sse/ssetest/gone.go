package ssetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sse/driver"
)

func goneCases() []conformance.Case[CapHarness] {
	return []conformance.Case[CapHarness]{
		capCase("gone-says-why", func(p *player) error {
			steps.Do(first(p.opens("1", "2", "3"), p.expect(three, "4", "1")))
			back := p.conn("5")
			back.Token = p.conn("2").Token
			steps.Get(p.open(three, back))
			steps.Do(p.Cap.Close(p.ctx, []driver.Conn{p.conn("3")}))
			stranger := driver.Conn{Member: name("nobody"), ID: "x.1", Token: "t"}
			got, err := p.Cap.Gone(p.ctx, []driver.Conn{p.conn("4"), p.conn("1"), p.conn("2"), stranger, p.conn("3"), back})
			steps.Named(err, "gone")
			want := []driver.Missing{
				{Conn: p.conn("1"), Evicted: true}, {Conn: p.conn("2"), Evicted: true},
				{Conn: stranger}, {Conn: p.conn("3")},
			}
			for _, w := range want {
				if !slices.Contains(got, w) {
					return fmt.Errorf("gone are %+v; want %+v among them", got, w)
				}
			}
			if len(got) != len(want) {
				return fmt.Errorf("gone are %+v; want %+v", got, want)
			}
			return nil
		}),
		capCase("gone-of-many", func(p *player) error {
			var conns []driver.Conn
			for i := range driver.MaxConns {
				c := driver.Conn{Member: fmt.Sprint(p.member, i), ID: p.conn(fmt.Sprint(i)).ID, Token: "t"}
				if conns = append(conns, c); i%2 == 0 {
					steps.Get(p.Cap.Open(p.ctx, three, p.live, c))
				}
			}
			missing := func() (int, error) { m, err := p.Cap.Gone(p.ctx, conns); return len(m), err }
			if n, err := missing(); err != nil || n != driver.MaxConns/2 {
				return fmt.Errorf("%d of %d are gone, %v; want every other", n, len(conns), err)
			}
			steps.Named(p.Cap.Close(p.ctx, conns), "close")
			if n, err := missing(); err != nil || n != driver.MaxConns {
				return fmt.Errorf("after all were closed %d of %d are gone, %v", n, len(conns), err)
			}
			if got, err := p.Cap.Gone(p.ctx, nil); err != nil || len(got) != 0 {
				return fmt.Errorf("of nobody %v are gone, %v", got, err)
			}
			return p.Cap.Close(p.ctx, nil)
		}),
	}
}
