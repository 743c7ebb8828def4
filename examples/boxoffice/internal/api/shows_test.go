package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// A show has its time, place and prices, and seats cost those prices.
func TestShowFacts(t *testing.T) {
	o := newOffice(t, nil)
	show := o.do(call{method: "GET", path: "/api/shows/show-1"}).body
	starts, err := time.Parse(time.RFC3339, fmt.Sprint(show["startsAt"]))
	if err != nil || !starts.After(time.Now()) {
		t.Errorf("it starts at %v, %v", show["startsAt"], err)
	}
	if doors, err := time.Parse(time.RFC3339, fmt.Sprint(show["doorsAt"])); err != nil || !doors.Before(starts) {
		t.Errorf("doors open at %v, %v", show["doorsAt"], err)
	}
	for field, want := range map[string]string{
		"venue": "map[city:Seoul name:Han River Hall timeZone:Asia/Seoul]", "currency": "KRW",
		"prices":     "[map[class:VIP price:150000] map[class:R price:120000] map[class:S price:90000]]",
		"performers": "[map[id:42 name:] map[id:113 name:]]",
	} {
		if got := fmt.Sprint(show[field]); got != want {
			t.Errorf("%s is %s", field, got)
		}
	}
	prices := map[any]any{}
	for _, p := range show["prices"].([]any) {
		prices[p.(map[string]any)["class"]] = p.(map[string]any)["price"]
	}
	token, entry := o.member("ann", "show-1")
	for _, s := range o.do(call{method: "GET", path: "/api/seats/show-1", token: token, entry: entry}).body["seats"].([]any) {
		if seat := s.(map[string]any); seat["price"] != prices[seat["class"]] {
			t.Errorf("%v, of a show with the prices %v", seat, prices)
		}
	}
}

// Unknown facts of a show are null, or an empty list, and never missing.
func TestShowWithoutFacts(t *testing.T) {
	o := newOffice(t, func(c *api.Config) {
		err := c.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for _, q := range []string{`DELETE FROM seat_classes`, `DELETE FROM show_performers`, `UPDATE shows SET venue = NULL, doors_at = NULL, starts_at = NULL`} {
				if _, err := tx.ExecContext(ctx, q); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		if c.Catalog, err = catalog.New(c.Store, nil); err != nil {
			t.Fatal(err)
		}
	})
	r := o.do(call{method: "GET", path: "/api/shows/show-1"})
	assert.Contains(t, r.text, `"startsAt":null,"doorsAt":null,"venue":null,"currency":"KRW","prices":[],"performers":[]`)
}
