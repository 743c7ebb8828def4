package screen

import (
	"strconv"
	"strings"
)

// Table lays out rows under a head. The first column is left-aligned, the
// others are right-aligned; every line is indented by two columns.
func Table(head []string, rows [][]string) string {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{head}, rows...) {
		b.WriteString(" ")
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if i == 0 {
				b.WriteString(" " + cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Wrap breaks text at spaces into lines of at most room columns. Lines after
// the first are indented, so that text which starts at that column stays in its
// block. A room under 10 columns leaves one line.
func Wrap(text string, room, indent int) string {
	if room < 10 {
		return text
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}

// Thousands groups the digits of a number: 12,345.
func Thousands[N int | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
