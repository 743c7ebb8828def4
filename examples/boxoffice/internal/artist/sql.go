package artist

import (
	_ "embed"
	"fmt"
	"regexp"

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
)
