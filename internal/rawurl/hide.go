package rawurl

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden replaces a secret.
const hidden = "xxxxx"

// short is the length below which a secret is hidden only as a separate word.
const short = 4

// Hide returns err with a text without the secrets of the URL, or of libpq's keywords.
// [errors.Is] and [errors.As] find the same errors as in err.
func Hide(err error, raw string) error {
	if err == nil {
		return nil
	}
	all := secrets(raw)
	if len(all) == 0 {
		return err
	}
	text := err.Error()
	for _, s := range all {
		text = Mask(text, s, short)
	}
	return redacted{text: text, err: err}
}

// redacted shows an error's text without the secrets that the text repeats. It does not store
// the secrets, since %#v would show them.
type redacted struct {
	text string
	err  error
}

func (r redacted) Error() string { return r.text }
func (r redacted) Unwrap() error { return r.err }

// secretName matches the names of parameters with a secret; token_file names a file.
var secretName = regexp.MustCompile(`(?i)pass|pwd|secret|token|credential|api_?key|^key$`)

// keyword is a setting of libpq's other form: password='a b'.
var keyword = regexp.MustCompile(`(?i)(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)`)

// secrets lists the secrets of a URL, in their written and their decoded form, the longest
// first.
func secrets(raw string) []string {
	var found []string
	add := func(s string) {
		for _, meant := range []string{s, unescaped(s, url.PathUnescape), unescaped(s, url.QueryUnescape), strings.Trim(s, "'")} {
			for _, form := range []string{meant, url.QueryEscape(meant), url.PathEscape(meant), strings.TrimPrefix(url.UserPassword("", meant).String(), ":"), strings.Trim(strconv.Quote(meant), `"`)} {
				if form != "" && !slices.Contains(found, form) {
					found = append(found, form)
				}
			}
		}
	}
	_, rest, isURL := strings.Cut(raw, "://")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if _, password, ok := strings.Cut(rest[:at], ":"); ok {
			add(password)
		}
	}
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		password, _ := u.User.Password()
		add(password)
	}
	_, query, _ := strings.Cut(rest, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); secretName.MatchString(name) && !strings.HasSuffix(name, "_file") {
			add(value)
		}
	}
	if !isURL {
		for _, m := range keyword.FindAllStringSubmatch(raw, -1) {
			if secretName.MatchString(m[1]) {
				add(m[2])
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

func unescaped(s string, by func(string) (string, error)) string {
	out, err := by(s)
	if err != nil {
		return ""
	}
	return out
}

// Mask hides a secret in a text. A secret of fewer than short bytes is hidden only as a separate
// word: as part of a word it reveals nothing.
func Mask(text, secret string, short int) string {
	switch {
	case secret == "":
		return text
	case len(secret) < short:
		return replaceWords(text, secret)
	}
	return strings.ReplaceAll(text, secret, hidden)
}

// replaceWords hides s where no letter or digit is next to it.
func replaceWords(text, s string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, s)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(s):])
		out.WriteString(text[:i])
		if inWord(before) || inWord(after) {
			out.WriteString(s)
		} else {
			out.WriteString(hidden)
		}
		text = text[i+len(s):]
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
