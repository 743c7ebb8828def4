package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Screen draws on a writer. It is not safe for concurrent use.
type Screen struct {
	w     io.Writer
	live  bool
	color bool
	size  func() (width, height int)
	drawn int // lines of the last frame
}

// New looks whether w is a terminal that can redraw; NO_COLOR and TERM=dumb are
// respected. plain asks for plain lines in any case.
func New(w io.Writer, plain bool) *Screen {
	s := &Screen{w: w, size: func() (int, int) { return 0, 0 }}
	file, ok := w.(*os.File)
	if !ok || plain || os.Getenv("TERM") == "dumb" {
		return s
	}
	if width, _ := terminalSize(file); width == 0 {
		return s
	}
	s.live, s.color = true, os.Getenv("NO_COLOR") == ""
	s.size = func() (int, int) { return terminalSize(file) }
	return s
}

// Live reports whether frames can be redrawn in place.
func (s *Screen) Live() bool { return s.live }

// Width returns the columns of the terminal, 0 for a pipe or a file.
func (s *Screen) Width() int {
	width, _ := s.size()
	return width
}

// Draw replaces the last frame. On a pipe or a file it does nothing: print
// plain lines there with [Screen.Print].
func (s *Screen) Draw(lines []string) {
	if !s.live {
		return
	}
	width, height := s.size()
	if height > 1 && len(lines) > height-1 {
		lines = lines[:height-1]
	}
	var b strings.Builder
	s.back(&b)
	for _, line := range lines {
		b.WriteString(Fit(line, width-1))
		b.WriteString("\x1b[K\n")
	}
	b.WriteString("\x1b[J") // the rest of a longer frame below
	s.drawn = len(lines)
	_, _ = io.WriteString(s.w, b.String())
}

// Print removes the frame and prints a line that stays.
func (s *Screen) Print(format string, args ...any) {
	var b strings.Builder
	s.back(&b)
	if s.drawn > 0 {
		b.WriteString("\x1b[J")
		s.drawn = 0
	}
	fmt.Fprintf(&b, format, args...)
	_, _ = io.WriteString(s.w, b.String())
}

// back moves to the first line of the last frame.
func (s *Screen) back(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", s.drawn)
	}
}

// Good, Bad and Strong mark text on a terminal with colours.
func (s *Screen) Good(text string) string   { return s.paint("32", text) }
func (s *Screen) Bad(text string) string    { return s.paint("1;31", text) }
func (s *Screen) Strong(text string) string { return s.paint("1", text) }

func (s *Screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Fit cuts text to width columns; the cut is marked. A width of 0 or less
// leaves it whole. It counts a character as one column.
func Fit(text string, width int) string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// Bar draws a share of 0 to 1 as a bar of that many columns.
func Bar(share float64, columns int) string {
	full := int(min(max(share, 0), 1)*float64(columns) + 0.5)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", columns-full) + "]"
}
