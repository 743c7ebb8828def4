package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each show has its dates in the future, in the evening of its venue, and its seats
// have the prices of their classes.
func TestSeedBillsShows(t *testing.T) {
	s, _ := open(t)
	rows, err := s.Reader().QueryContext(t.Context(), `SELECT show_id, venue, city, time_zone, currency, doors_at, starts_at FROM shows ORDER BY position`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for before := time.Now(); rows.Next(); n++ {
		var id, venue, city, zone, currency string
		var doors, starts int64
		require.NoError(t, rows.Scan(&id, &venue, &city, &zone, &currency, &doors, &starts))
		place, err := time.LoadLocation(zone)
		require.NoError(t, err)
		at := time.UnixMilli(starts).In(place)
		want := shows()[n]
		days := time.Until(at).Hours() / 24
		if id != want.id || venue != want.venue || city != want.city || currency != "KRW" || at.Hour() != want.hour || at.Minute() != want.minute ||
			days < float64(want.days-1) || days > float64(want.days+1) || at.Sub(time.UnixMilli(doors)) != doorsBefore || !at.After(before) {
			t.Errorf("%s: %s, %s, %s, %s, doors %s, %s", id, venue, city, zone, currency, time.UnixMilli(doors), at)
		}
		before = at
	}
	assert.Equal(t, 5, n, "shows")
	if n := count(t, s, `SELECT COUNT(*) FROM seats s LEFT JOIN seat_classes c ON c.show_id = s.show_id AND c.price = s.price WHERE c.class IS NULL`); n != 0 {
		t.Errorf("%d seats have a price that is no class's", n)
	}
	if n := count(t, s, `SELECT COUNT(*) FROM shows WHERE show_id NOT IN (SELECT show_id FROM show_performers)`); n != 0 {
		t.Errorf("nobody plays in %d shows", n)
	}
}

// Shows that the version before has made get their dates, once: a later start leaves
// them where they are.
func TestSeedBillsOnce(t *testing.T) {
	s, url := open(t)
	for _, q := range []string{
		`DELETE FROM seat_classes`, `DELETE FROM show_performers`, `UPDATE shows SET starts_at = NULL, doors_at = NULL, venue = NULL`,
		`UPDATE shows SET starts_at = 7, venue = 'Elsewhere' WHERE show_id = 'show-2'`,
	} {
		_, err := s.DB().Exec(q)
		require.NoError(t, err)
	}
	again := reopen(t, url)
	assert.Equal(t, 4, count(t, again, `SELECT COUNT(*) FROM shows WHERE starts_at > 7 AND venue <> 'Elsewhere'`), "shows have their dates")
	assert.Equal(t, 12, count(t, again, `SELECT COUNT(*) FROM seat_classes`), "classes")
	assert.Equal(t, 7, count(t, again, `SELECT starts_at FROM shows WHERE show_id = 'show-2'`), "a show that was changed starts at")
	// Also where the start has seats to make.
	for _, q := range []string{`UPDATE shows SET starts_at = starts_at - 1`, `DELETE FROM seats WHERE position = 500`, `DELETE FROM seat_classes WHERE show_id = 'show-1'`} {
		_, err := s.DB().Exec(q)
		require.NoError(t, err)
	}
	before := count(t, s, `SELECT SUM(starts_at) FROM shows`)
	again = reopen(t, url)
	if after := count(t, again, `SELECT SUM(starts_at) FROM shows`); after != before {
		t.Errorf("a later start moved the dates from %d to %d", before, after)
	}
	assert.Equal(t, 9, count(t, again, `SELECT COUNT(*) FROM seat_classes`), "classes: a later start changed the prices of a show that was billed")
}
