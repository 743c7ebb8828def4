package sse_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// told is an event as a client dispatches it.
type told struct {
	Name, Data, LastID string
}

// parser is a client as the HTML standard describes it, "Interpreting an event
// stream", step for step and without regard to speed.
type parser struct {
	dispatch func(told)
	retry    func(string)

	data, name    string
	lastID, block string // the id buffer counts when an event is dispatched
}

// read reads a stream to its end. An event that no empty line ends is dropped.
func (p *parser) read(r io.Reader) error {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" {
		if _, err := in.Discard(3); err != nil {
			return err
		}
	}
	var line []byte
	afterCR := false
	for {
		c, err := in.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case c == '\n' && afterCR:
			afterCR = false
			continue
		case c == '\n' || c == '\r':
			p.line(decode(line))
			line = line[:0]
		default:
			line = append(line, c)
		}
		afterCR = c == '\r'
	}
}

// decode replaces invalid UTF-8.
func decode(b []byte) string {
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}

func (p *parser) line(line string) {
	if line == "" {
		p.empty()
		return
	}
	if line[0] == ':' {
		return
	}
	field, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "event":
		p.name = value
	case "data":
		p.data += value + "\n"
	case "id":
		if !strings.Contains(value, "\x00") {
			p.block = value
		}
	case "retry":
		if value != "" && strings.Trim(value, "0123456789") == "" && p.retry != nil {
			p.retry(value)
		}
	}
}

func (p *parser) empty() {
	p.lastID = p.block
	if p.data == "" {
		p.name = ""
		return
	}
	e := told{Name: p.name, Data: strings.TrimSuffix(p.data, "\n"), LastID: p.lastID}
	if e.Name == "" {
		e.Name = "message"
	}
	p.data, p.name = "", ""
	p.dispatch(e)
}

// parse reads a whole stream.
func parse(stream string) (events []told, retries []string) {
	p := parser{
		dispatch: func(e told) { events = append(events, e) },
		retry:    func(ms string) { retries = append(retries, ms) },
	}
	if err := p.read(strings.NewReader(stream)); !errors.Is(err, io.EOF) {
		panic(err) // a reader in memory has no other end
	}
	return events, retries
}
