package svgplot_test

import (
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/proof/svgplot"
)

func ExampleBars() {
	svg, err := svgplot.Bars{
		Title: "Draining an outbox", Unit: "events/s",
		Bars:  []svgplot.Bar{{Label: "ours", Role: svgplot.Ours, Value: 354_000}, {Label: "a peer", Role: svgplot.Peer, Value: 19_700}},
		Goals: []svgplot.Goal{{Label: "12 × the peer", Value: 236_400}},
	}.SVG()
	fmt.Println(err, strings.Contains(string(svg), "goal: 12 × the peer (236,400 events/s)"))
	// Output: <nil> true
}

func ExampleLines() {
	svg, err := svgplot.Lines{
		Title: "Draining a backlog", X: "rows", Unit: "events/s",
		Lines: []svgplot.Line{
			{Label: "1 shard", Role: svgplot.Ours, Points: []svgplot.Point{{X: 1000, Value: 90_000}, {X: 10_000, Value: 250_000}}},
			{Label: "limit: a bare read", Role: svgplot.Limit, Colour: -1, Points: []svgplot.Point{{X: 1000, Value: 600_000}, {X: 10_000, Value: 700_000}}},
		},
	}.SVG()
	fmt.Println(err, strings.Count(string(svg), "<path"))
	// Output: <nil> 2
}
