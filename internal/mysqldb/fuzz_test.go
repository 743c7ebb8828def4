package mysqldb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/mysqldb"
)

// For any URL, the error names the mistake without the password.
func FuzzOpen(f *testing.F) {
	f.Add("", "h/db")
	f.Add("/x", "h/db?timeout=soon")
	f.Add("#", "h:port/db")
	f.Add("%zz", "h/db?tls=perhaps")
	f.Add("@", "h/db?a=b;c")
	f.Fuzz(func(t *testing.T, password, rest string) {
		const mark = "s3cr3t-9q"
		if strings.Contains(rest, "tls-") {
			t.Skip() // names files of this machine
		}
		url := "mysql://u:" + mark + password + "@" + rest
		db, err := mysqldb.Open(url)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "mysqldb: ") || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), mark) {
				t.Fatalf("%q: %v", url, err)
			}
			return
		}
		require.NoError(t, db.Close())
	})
}
