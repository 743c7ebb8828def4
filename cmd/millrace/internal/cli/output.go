package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// jsonFlag gives a command its --json.
func (a *app) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON, for programs")
}

// printJSON writes a value for programs.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// answer writes an outcome: JSON for programs, otherwise a text for people.
func (a *app) answer(v any, format string, args ...any) error {
	if a.json {
		return a.printJSON(v)
	}
	return a.print(format, args...)
}

// list writes a list: JSON for programs, otherwise a table, or the text none when the table
// has only its heading.
func (a *app) list(v any, rows [][]string, none string) error {
	switch {
	case a.json:
		return a.printJSON(v)
	case len(rows) == 1:
		return a.print("%s", none)
	}
	return a.table(rows)
}

// table writes rows for people; the first is the heading.
func (a *app) table(rows [][]string) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plain(cell)
		}
		if _, err := io.WriteString(w, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	return w.Flush()
}

// print writes a line for people.
func (a *app) print(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

// plain makes one line of text that a terminal does not interpret: text from a topic may
// hold escape sequences.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case harmful(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// plainLines is plain for a text of several lines.
func plainLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && harmful(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
}

// harmful reports whether a character is a control character, or changes the direction of
// the text after it.
func harmful(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// short cuts a text to a column's width.
func short(s string, width int) string {
	s = plain(s)
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	return string(runes[:width-1]) + "…"
}

// orDash is a text, or a dash for none.
func orDash(s string) string { return cmp.Or(s, "-") }

// yesOrNo is a word for a table.
func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// moment shows a time to the second.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// ago shows how long ago a time is.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(time.Since(t), 0)
	switch {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
