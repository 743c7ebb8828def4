package event

import "strings"

// The HTTP binding (CloudEvents 1.0.2, 3.1.3.2) writes header values in
// printable ASCII: space, double quote, percent and everything outside of
// U+0021 to U+007E becomes %XX of its UTF-8 bytes.

func percentEncode(value string) string {
	n := 0
	for i := range len(value) {
		if mustEncode(value[i]) {
			n++
		}
	}
	if n == 0 {
		return value
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(value)+2*n)
	for i := range len(value) {
		if c := value[i]; mustEncode(c) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

func mustEncode(c byte) bool { return c <= ' ' || c == '"' || c == '%' || c >= 0x7f }

// percentDecode reverses percentEncode once. It first unwraps a quoted string, as older
// producers write them. A percent sign that is not followed by two hex digits is kept: the Go
// SDK writes headers without encoding them.
func percentDecode(value string) string {
	value = unwrapQuotes(value)
	if !strings.Contains(value, "%") {
		return value
	}
	b := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) && isHex(value[i+1]) && isHex(value[i+2]) {
			b = append(b, unhex(value[i+1])<<4|unhex(value[i+2]))
			i += 2
		} else {
			b = append(b, value[i])
		}
	}
	return string(b)
}

func unwrapQuotes(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	value = value[1 : len(value)-1]
	if !strings.Contains(value, `\`) {
		return value
	}
	b := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			i++
		}
		b = append(b, value[i])
	}
	return string(b)
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}
