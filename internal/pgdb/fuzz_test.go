package pgdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/pgdb"
)

// For any URL, the error names the mistake without the password.
func FuzzOpen(f *testing.F) {
	f.Add("", "h/db")
	f.Add("/x", "h/db")
	f.Add("#", "h:port/db")
	f.Add("%", "h/db?sslmode=perhaps")
	f.Add("' x='", "h/db")
	f.Add("@", "h/db?connect_timeout=soon")
	f.Fuzz(func(t *testing.T, password, rest string) {
		const mark = "s3cr3t-9q"
		for _, url := range []string{
			"postgres://u:" + mark + password + "@" + rest,
			"host=h user=u password='" + mark + password + "' port=" + rest,
			"postgres://u@h/db?password=" + mark + password + "&sslmode=" + rest,
		} {
			db, err := pgdb.Open(url)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "pgdb: ") || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), mark) {
					t.Fatalf("%q: %v", url, err)
				}
				continue
			}
			require.NoError(t, db.Close())
		}
	})
}
