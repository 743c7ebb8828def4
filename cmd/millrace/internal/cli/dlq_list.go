package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus/redrive"
)

// letterReport is a dead letter for programs. Only show prints Metadata, Payload and Stack.
type letterReport struct {
	ID            string            `json:"id"`
	Type          string            `json:"type"`
	Key           string            `json:"key"`
	OriginalTopic string            `json:"originalTopic"`
	Group         string            `json:"group"`
	Reason        string            `json:"reason"`
	Class         string            `json:"class"`
	Error         string            `json:"error"`
	Attempts      int               `json:"attempts"`
	Redrives      int               `json:"redrives"`
	Edits         int               `json:"edits"`
	Worker        string            `json:"worker"`
	FirstFailure  *time.Time        `json:"firstFailure"`
	LastFailure   *time.Time        `json:"lastFailure"`
	EventError    string            `json:"eventError,omitempty"`
	Stack         string            `json:"stack,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	Payload       *string           `json:"payload,omitempty"`
	Encoding      string            `json:"encoding,omitempty"` // of the payload: utf-8 or base64
}

func report(l redrive.Letter) letterReport {
	r := letterReport{
		ID: l.ID, Type: l.Type, OriginalTopic: l.OriginalTopic, Group: l.Group, Reason: l.Reason, Class: l.Class,
		Error: l.Error, Attempts: l.Attempts, Redrives: l.Redrives, Edits: l.Edits, Worker: l.Worker,
		FirstFailure: known(l.FirstFailure), LastFailure: known(l.LastFailure),
	}
	if l.Event != nil {
		r.Key = l.Event.Key()
	}
	if l.EventError != nil {
		r.EventError = l.EventError.Error()
	}
	return r
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *app) dlqListCommand() *cobra.Command {
	var raw string
	var f filterFlags
	var limit int
	cmd := f.of(a.letterCommand(&cobra.Command{
		Use: "list TOPIC", Short: "List dead letters, oldest first",
		Long: "list changes nothing. On SQS, and behind SNS, it reads the queue and hands everything back, so that a redrive at the same time sees only a part.",
		Example: "  millrace dlq list dlq.payment --bus kafka://k1,k2,k3/\n" +
			"  millrace dlq list orders.DLT --reason PERMANENT --since 24h --json | jq -r '.letters[].id'",
		Args: topicAnd(0, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return usage("--limit is %d; give at least 1, or 0 for all", limit)
			}
			return a.withLetters(cmd.Context(), raw, args[0], func(l letters) error {
				return a.dlqList(cmd.Context(), l, f.filter(nil, false), limit)
			})
		},
	}, &raw))
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most; 0 for all that are seen")
	return cmd
}

func (a *app) dlqList(ctx context.Context, l letters, f redrive.Filter, limit int) error {
	found, err := l.List(ctx, f, limit)
	if err != nil {
		return err
	}
	if len(found.Letters) == 0 {
		if err := l.chosenNone(ctx, f); err != nil {
			return err
		}
	}
	// Letters of partitions come interleaved; within each partition they are in order.
	slices.SortStableFunc(found.Letters, func(a, b redrive.Letter) int { return a.LastFailure.Compare(b.LastFailure) })
	if a.json {
		out := struct {
			Topic    string         `json:"topic"`
			Pending  int            `json:"pending"`
			Seen     int            `json:"seen"`
			Complete bool           `json:"complete"`
			Letters  []letterReport `json:"letters"`
		}{l.topic, found.Pending, found.Seen, found.Complete, []letterReport{}}
		for _, letter := range found.Letters {
			out.Letters = append(out.Letters, report(letter))
		}
		return a.printJSON(out)
	}
	if len(found.Letters) == 0 {
		return a.print("no dead letters%s", among(found))
	}
	rows := [][]string{{"ID", "TYPE", "GROUP", "REASON", "CLASS", "ATTEMPTS", "REDRIVES", "FAILED", "ERROR"}}
	for _, letter := range found.Letters {
		rows = append(rows, []string{
			letter.ID, orDash(letter.Type), orDash(letter.Group), orDash(letter.Reason), orDash(letter.Class),
			strconv.Itoa(letter.Attempts), strconv.Itoa(letter.Redrives), moment(letter.LastFailure), short(letter.Error, 60),
		})
	}
	if err := a.table(rows); err != nil {
		return err
	}
	return a.print("\n%s%s", counted(len(found.Letters), "dead letter"), among(found))
}

// among returns the number of letters from which the listed ones were chosen.
func among(found redrive.Result) string {
	switch {
	case found.Complete && found.Pending <= len(found.Letters):
		return ""
	case found.Complete:
		return fmt.Sprintf(" of %d", found.Pending)
	}
	return fmt.Sprintf(" of %d, of which %d were looked at", max(found.Pending, found.Seen), found.Seen)
}

func (a *app) dlqShowCommand() *cobra.Command {
	var raw string
	return a.letterCommand(&cobra.Command{
		Use: "show TOPIC ID", Short: "Show a dead letter with its payload",
		Long:    "show prints everything that is known of a letter: why it failed, its metadata, and its payload, which may hold personal data.",
		Example: "  millrace dlq show dlq.payment 0199a7c2-7f00-7abc-8def-000000000001 --bus kafka://k1,k2,k3/",
		Args:    topicAnd(1, "the letter's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLetters(cmd.Context(), raw, args[0], func(l letters) error {
				letter, err := l.Show(cmd.Context(), args[1])
				if err != nil {
					return l.nearestID(cmd.Context(), args[1], err)
				}
				return a.show(letter)
			})
		},
	}, &raw)
}

func (a *app) show(l redrive.Letter) error {
	r := report(l)
	text, readable := string(l.Payload), utf8.Valid(l.Payload)
	if a.json {
		r.Stack, r.Metadata, r.Encoding = l.Stack, l.Metadata, "utf-8"
		if !readable {
			text, r.Encoding = base64.StdEncoding.EncodeToString(l.Payload), "base64"
		}
		r.Payload = &text
		return a.printJSON(r)
	}
	rows := [][]string{
		{"id", l.ID}, {"type", orDash(r.Type)}, {"key", orDash(r.Key)},
		{"topic", orDash(l.OriginalTopic)}, {"group", orDash(l.Group)}, {"reason", orDash(l.Reason)}, {"class", orDash(l.Class)},
		{"attempts", strconv.Itoa(l.Attempts)}, {"redrives", strconv.Itoa(l.Redrives)}, {"edits", strconv.Itoa(l.Edits)},
		{"first failure", moment(l.FirstFailure)}, {"last failure", moment(l.LastFailure)}, {"worker", orDash(l.Worker)},
	}
	if r.EventError != "" {
		rows = append(rows, []string{"not an event", r.EventError})
	}
	if err := a.table(rows); err != nil {
		return err
	}
	sections := []struct{ name, text string }{{"error", l.Error}, {"stack", l.Stack}}
	var meta strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.Metadata)) {
		if !strings.HasPrefix(name, "dlq_") { // shown above
			fmt.Fprintf(&meta, "%s: %s\n", plain(name), plain(l.Metadata[name]))
		}
	}
	sections = append(sections, struct{ name, text string }{"metadata", strings.TrimSuffix(meta.String(), "\n")})
	if readable {
		text = pretty(l.Payload)
	} else {
		text = fmt.Sprintf("%d bytes that are no text, in base64:\n%s", len(l.Payload), base64.StdEncoding.EncodeToString(l.Payload))
	}
	sections = append(sections, struct{ name, text string }{"payload", text})
	for _, s := range sections {
		if s.text == "" {
			continue
		}
		if err := a.print("\n%s:\n%s", s.name, plainLines(s.text)); err != nil {
			return err
		}
	}
	return nil
}

// pretty indents JSON; other text stays as it is.
func pretty(payload []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, payload, "", "  ") != nil {
		return string(payload)
	}
	return out.String()
}
