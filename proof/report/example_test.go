package report_test

import (
	"fmt"
	"os"

	"github.com/millrace-go/millrace/proof/report"
)

func ExampleTo() {
	rec := report.To(os.Stdout)
	rec.Chart(report.Chart{Name: "drain", Title: "Draining a backlog", Unit: "events/s"})
	rec.Figure(report.Figure{Chart: "drain", Name: "ours", Role: report.Ours, Rounds: []report.Number{150_000, 140_000, 160_000}})
	rec.AtLeast("drain / a peer", report.Ratio(150_000, 10_000, "events/s"), 12)
	rec.Told("an idle relay", report.Value(1.5, "statements"))
	fmt.Println(rec.Section().Figures[0].Median, rec.Section().Claims[0].Verdict)
	// Output:
	// drain / a peer                                                15.00   goal >= 12    met
	// an idle relay                                                  1.50   goal none
	// 150000 met
}
