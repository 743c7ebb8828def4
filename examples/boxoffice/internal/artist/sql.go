package artist

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/artist.sql
var artistSQL string

type statements struct {
	Read, Wanted, Touch                            string
	Known, Lock, Checked, Changed, Keep, Unarchive string
	Remember, History                              string
	Missing, Failed, Succeeded, GaveUp             string
}

// loadSQL reads statements for the store's database.
func loadSQL(s *store.Store, text string, into any) error {
	if s.Dialect() == "mysql" {
		text = upsert.ReplaceAllString(text, "ON DUPLICATE KEY UPDATE")
		text = excluded.ReplaceAllString(text, "VALUES($1)")
	}
	if err := s.Load(text, into); err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	return nil
}

var (
	upsert   = regexp.MustCompile(`ON CONFLICT \(\w+\) DO UPDATE SET`)
	excluded = regexp.MustCompile(`excluded\.(\w+)`)
	argument = regexp.MustCompile(`\$[0-9]+`)
)

// rows makes VALUES ($1, … $width) fit n rows of values.
func rows(statement string, width, n int) string {
	head, rest, _ := strings.Cut(statement, "VALUES (")
	end := tupleEnd(rest)
	row, tail := rest[:end], rest[end:]
	var b strings.Builder
	b.WriteString(head + "VALUES (" + row)
	for i := 1; i < n; i++ {
		b.WriteString("), (")
		b.WriteString(argument.ReplaceAllStringFunc(row, func(p string) string {
			at, err := strconv.Atoi(p[1:])
			if err != nil {
				return p // too large to be a parameter
			}
			return "$" + strconv.Itoa(at+i*width)
		}))
	}
	return b.String() + tail
}

// tupleEnd finds the parenthesis that closes the one before text.
func tupleEnd(text string) int {
	depth := 1
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return len(text)
}
