package notices

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// The types of notifications.
const (
	Follow      = "FOLLOW"
	PostLike    = "POST_LIKE"
	Comment     = "COMMENT"
	VoteClosed  = "VOTE_CLOSED"
	Reservation = "RESERVATION"
	Transfer    = "TRANSFER"
)

// TypeOf is the type of the notifications that an event makes; "" for no such event.
func TypeOf(eventType string) string {
	switch eventType {
	case events.MemberFollowed:
		return Follow
	case events.PostLiked:
		return PostLike
	case events.CommentCreated:
		return Comment
	case events.VoteClosed:
		return VoteClosed
	case events.ReservationNotice:
		return Reservation
	case events.TransferNotice:
		return Transfer
	}
	return ""
}

// prefix of the texts in the locales.
const prefix = "notice.text."

// Text is the sentence for a reader, in one of locales.Languages. message is used
// where the parameters make no sentence. The result is one line of plain text, never
// empty.
func Text(lang, typ string, p events.NoticeParams, message string) string {
	if text, ok := sentence(lang, typ, p); ok {
		return text
	}
	if message = clean(message); message != "" {
		return message
	}
	return locales.Of(lang).Text(prefix + "other")
}

// sentence is the text that fits the parameters best, unless it needs one that is
// missing.
func sentence(lang, typ string, p events.NoticeParams) (string, bool) {
	texts := locales.Of(lang)
	for _, key := range keys(lang, typ, p) {
		if text, ok := texts[key]; ok {
			return fill(text, map[string]string{
				"member": clean(p.Member),
				"show":   clean(p.Show),
				"seats":  clean(strings.Join(p.Seats, ", ")),
				"songs":  clean(and(texts, p.Songs)),
			})
		}
	}
	return "", false
}

// keys are the keys of the texts that fit, the best one first.
func keys(lang, typ string, p events.NoticeParams) (all []string) {
	name := prefix + typ
	names := []string{name}
	for _, part := range []string{p.Outcome, p.Reason} {
		if part == "" {
			break
		}
		name += "." + part
		names = append([]string{name}, names...)
	}
	n := max(len(p.Seats), len(p.Songs))
	for _, name := range names {
		if n > 0 {
			all = append(all, name+"."+locales.Plural(lang, n))
		}
		all = append(all, name)
	}
	return all
}

// and joins a list into a phrase.
func and(texts locales.Catalog, list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return texts.Text("list.and", "first", strings.Join(list[:last], ", "), "last", list[last])
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// fill puts the values into a text; ok is false when one is missing.
func fill(text string, values map[string]string) (filled string, ok bool) {
	ok = true
	filled = placeholder.ReplaceAllStringFunc(text, func(name string) string {
		value := values[name[1:len(name)-1]]
		ok = ok && value != ""
		return value
	})
	return filled, ok
}

// clean turns any string into text: one line that reads in the direction of its
// letters.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, s))
}
