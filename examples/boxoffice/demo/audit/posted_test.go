package audit

import (
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// A fan's posts, compared with the stored ones.
func TestPosted(t *testing.T) {
	is := func(ids ...string) (there []posted) {
		for _, id := range ids {
			there = append(there, posted{id, "show-1", "hi"})
		}
		return there
	}
	for name, c := range map[string]struct {
		said  crowd.Said
		there []posted
		wrong int
	}{
		"told and there":              {crowd.Said{ID: "1", Sent: 1}, is("1"), 0},
		"told and missing":            {crowd.Said{ID: "1", Sent: 1}, nil, 1},
		"told and there twice":        {crowd.Said{ID: "1", Sent: 1}, is("1", "1"), 2},
		"told, with another one":      {crowd.Said{ID: "1", Sent: 1}, is("1", "2"), 1},
		"sent twice, there twice":     {crowd.Said{ID: "2", Sent: 2}, is("1", "2"), 0},
		"sent twice, there once":      {crowd.Said{ID: "2", Sent: 2}, is("2"), 0},
		"sent twice, the told is not": {crowd.Said{ID: "2", Sent: 2}, is("1"), 1},
		"sent twice, there 3 times":   {crowd.Said{ID: "2", Sent: 2}, is("1", "2", "3"), 1},
		"lost and there":              {crowd.Said{Sent: 1}, is("1"), 0},
		"lost and not there":          {crowd.Said{Sent: 1}, nil, 0},
		"lost and there twice":        {crowd.Said{Sent: 1}, is("1", "2"), 1},
		"deleted":                     {crowd.Said{ID: "1", Sent: 1, Deleting: true, Deleted: true}, nil, 0},
		"deleted and there":           {crowd.Said{ID: "1", Sent: 1, Deleting: true, Deleted: true}, is("1"), 2},
		"deleted, with another one":   {crowd.Said{ID: "2", Sent: 2, Deleting: true, Deleted: true}, is("1"), 0},
		"being deleted and there":     {crowd.Said{ID: "1", Sent: 1, Deleting: true}, is("1"), 0},
		"being deleted and gone":      {crowd.Said{ID: "1", Sent: 1, Deleting: true}, nil, 0},
		"of another place":            {crowd.Said{ID: "1", Sent: 1}, []posted{{"1", "show-2", "hi"}}, 1},
		"nobody's":                    {crowd.Said{Sent: 1}, []posted{{"1", "show-1", "hello"}}, 1},
	} {
		c.said.Place, c.said.Text = "show-1", "hi"
		a := community{find: &judge.Findings{}, records: []*crowd.Record{{Member: "ann"}}}
		a.posted(checkComments, c.there, func(*crowd.Record) []*crowd.Said { return []*crowd.Said{&c.said} })
		if got := a.find.Count(checkComments); got != c.wrong {
			t.Errorf("%s: %d findings, want %d: %v", name, got, c.wrong, a.find.Checks())
		}
	}
}

func TestOrderOfMessages(t *testing.T) {
	for name, c := range map[string]struct {
		there []posted
		wrong int
	}{
		"in order":          {[]posted{{id: "1"}, {id: "other"}, {id: "2"}, {id: "3"}}, 0},
		"one is missing":    {[]posted{{id: "1"}, {id: "3"}}, 0},
		"two are swapped":   {[]posted{{id: "2"}, {id: "1"}, {id: "3"}}, 1},
		"all are reversed":  {[]posted{{id: "3"}, {id: "2"}, {id: "1"}}, 2},
		"the last is first": {[]posted{{id: "3"}, {id: "1"}, {id: "2"}}, 1},
	} {
		rec := &crowd.Record{Community: crowd.Community{Messages: []*crowd.Said{{ID: "1"}, {ID: "2"}, {ID: ""}, {ID: "3"}}}}
		a := community{find: &judge.Findings{}, records: []*crowd.Record{rec}}
		a.order(c.there)
		if got := a.find.Count(checkChat); got != c.wrong {
			t.Errorf("%s: %d findings, want %d: %v", name, got, c.wrong, a.find.Checks())
		}
	}
}
