package artist

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// canon writes JSON in its canonical form: no spaces, members in the order of their
// names, the last of those with one name, strings with no more escapes than they
// need, and numbers as they were written. Its input has been checked by scan.
// Decoding into maps and encoding them again takes four times as long.
type canon struct {
	out     []byte
	members []member // of the objects that are open
	scratch []byte
}

// member is where the name and the value of an object's member stand in out.
type member struct{ from, colon, to int }

// value writes the value that begins at or after src[i] and returns its end.
func (c *canon) value(src []byte, i int) int {
	i = pastSpace(src, i)
	switch src[i] {
	case '{':
		return c.object(src, i+1)
	case '[':
		return c.array(src, i+1)
	case '"':
		end := stringEnd(src, i)
		c.text(src[i:end])
		return end
	}
	end := i
	for c := src[end]; c > ' ' && c != ',' && c != ']' && c != '}'; c = src[end] {
		end++ // a value never ends the document
	}
	c.out = append(c.out, src[i:end]...)
	return end
}

func (c *canon) array(src []byte, i int) int {
	c.out = append(c.out, '[')
	for n := 0; ; n++ {
		if i = pastSpace(src, i); src[i] == ']' {
			c.out = append(c.out, ']')
			return i + 1
		}
		if n > 0 {
			i++ // the comma
			c.out = append(c.out, ',')
		}
		i = pastSpace(src, c.value(src, i))
	}
}

func (c *canon) object(src []byte, i int) int {
	base, start := len(c.members), len(c.out)
	c.out = append(c.out, '{')
	sorted := true
	for {
		if i = pastSpace(src, i); src[i] == '}' {
			break
		}
		if src[i] == ',' {
			i = pastSpace(src, i+1)
		}
		m := member{from: len(c.out)}
		end := stringEnd(src, i)
		c.text(src[i:end])
		m.colon = len(c.out)
		c.out = append(c.out, ':')
		i = c.value(src, pastSpace(src, end)+1)
		m.to = len(c.out)
		c.out = append(c.out, ',')
		if n := len(c.members); n > base && bytes.Compare(c.name(c.members[n-1]), c.name(m)) >= 0 {
			sorted = false
		}
		c.members = append(c.members, m)
	}
	if !sorted {
		c.sort(start, c.members[base:])
	}
	c.members = c.members[:base]
	if last := len(c.out) - 1; c.out[last] == ',' {
		c.out[last] = '}'
	} else {
		c.out = append(c.out, '}')
	}
	return i + 1
}

// name of a member, without its quotes.
func (c *canon) name(m member) []byte { return c.out[m.from+1 : m.colon-1] }

// sort puts the members of the object at start in order.
func (c *canon) sort(start int, all []member) {
	slices.SortStableFunc(all, func(a, b member) int {
		return cmp.Or(bytes.Compare(c.name(a), c.name(b)), cmp.Compare(a.from, b.from))
	})
	sorted := c.scratch[:0]
	for i, m := range all {
		if i+1 < len(all) && bytes.Equal(c.name(m), c.name(all[i+1])) {
			continue // a later one has its name
		}
		sorted = append(sorted, c.out[m.from:m.to]...)
		sorted = append(sorted, ',')
	}
	c.out = append(c.out[:start+1], sorted...)
	c.scratch = sorted
}

// text writes a string, given with its quotes.
func (c *canon) text(quoted []byte) {
	if !bytes.ContainsRune(quoted, '\\') && utf8.Valid(quoted) {
		c.out = append(c.out, quoted...)
		return
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		s = string(quoted) // scan has checked it
	}
	const hex = "0123456789abcdef"
	c.out = append(c.out, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			c.out = append(c.out, '\\', b)
		case b < ' ':
			c.out = append(c.out, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			c.out = append(c.out, b)
		}
	}
	c.out = append(c.out, '"')
}

func pastSpace(src []byte, i int) int {
	for src[i] == ' ' || src[i] == '\t' || src[i] == '\n' || src[i] == '\r' {
		i++
	}
	return i
}

// stringEnd is the index after the string whose opening quote is at i.
func stringEnd(src []byte, i int) int {
	for i++; ; i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}
