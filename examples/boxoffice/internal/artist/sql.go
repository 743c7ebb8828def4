package artist

import (
	"context"
	"database/sql"
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

// insert runs an INSERT of one row for n rows, of which args has the values one after the
// other. The row ends with the line of VALUES.
func insert(ctx context.Context, tx *sql.Tx, statement string, n int, args []any) error {
	before, rest, _ := strings.Cut(statement, "VALUES ")
	row, after, _ := strings.Cut(rest, "\n")
	width := len(args) / n
	all := make([]string, n)
	for i := range all {
		all[i] = argument.ReplaceAllStringFunc(row, func(p string) string {
			at, err := strconv.Atoi(p[1:])
			if err != nil {
				return p // too large to be a parameter
			}
			return "$" + strconv.Itoa(at+i*width)
		})
	}
	_, err := tx.ExecContext(ctx, before+"VALUES "+strings.Join(all, ", ")+"\n"+after, args...)
	return err
}
