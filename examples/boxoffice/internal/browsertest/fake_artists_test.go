package browsertest

import (
	"fmt"
	"net/http"
	"time"
)

// fakeArtists is the mirror: its answer for each artist, and the number of reads.
type fakeArtists struct {
	views  map[string]map[string]any
	looks  map[string]int
	broken bool
	// refresh is the status of a wish to refresh, or the type of a problem.
	refresh string
	wishes  int
}

// missing is the freshness of an artist that the upstream does not have.
const missing = "MISSING"

// artistIs sets the mirror's answer for an artist.
func (f *fake) artistIs(id, freshness string, queued bool, wait any) {
	view := map[string]any{"snapshot": nil, "freshness": freshness, "lastUpdatedAt": nil, "lastCheckedAt": nil, "updateQueued": queued, "estimatedWaitMs": wait}
	now := time.Now()
	switch freshness {
	case "FRESH":
		view["snapshot"], view["lastUpdatedAt"], view["lastCheckedAt"] = fakeSnapshot(id), now.Add(-26*time.Hour), now
	case "STALE":
		view["snapshot"], view["lastUpdatedAt"], view["lastCheckedAt"] = fakeSnapshot(id), now.Add(-76*time.Hour), now.Add(-95*time.Minute)
	case missing:
		view["freshness"], view["lastCheckedAt"] = "NOT_FOUND", now.Add(-7*time.Minute)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.artists.views[id] = view
}

// breakArtists makes the mirror fail, or work again.
func (f *fake) breakArtists(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.artists.broken = broken
}

func (f *fake) artistLooks(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.artists.looks[id]
}

func fakeSnapshot(id string) map[string]any {
	figures := map[string]any{}
	for i := range 970 {
		figures[fmt.Sprintf("f%04d", i+1)] = 10_000_000 + 7919*i
	}
	return map[string]any{
		"id": id, "name": "The Paper Lanterns", "level": 137, "updatedAt": "2026-01-04T11:22:33Z",
		"attributes": map[string]any{
			"genre": "city pop", "country": "KR", "fanClubSince": "2019-06-07", "revision": 4, "figures": figures,
			"biography": "Plays a long set, starts on time, and comes back for one more song. Plays a long set, starts on time, and comes back for one more song. Plays a long set, starts on time.",
		},
	}
}

func (f *fake) artist(r *http.Request, _ string) (int, any) {
	id := r.PathValue("id")
	f.artists.looks[id]++
	if f.artists.broken {
		return 500, fault{"Something went wrong", "the database is away"}
	}
	view, ok := f.artists.views[id]
	if !ok {
		return 404, fault{"No such route", ""}
	}
	return 200, view
}

// refreshIs sets the outcome of wishes to refresh.
func (f *fake) refreshIs(status string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.artists.refresh = status
}

func (f *fake) artistWishes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.artists.wishes
}

func (f *fake) refreshArtist(*http.Request, string) (int, any) {
	f.artists.wishes++
	if f.artists.refresh == "artist-resting" {
		return 409, map[string]any{"type": "/problems/artist-resting", "title": "The last refresh failed"}
	}
	return 202, map[string]any{"status": f.artists.refresh, "lastCheckedAt": nil, "estimatedWaitMs": nil}
}
