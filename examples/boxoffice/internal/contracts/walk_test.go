package contracts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWalk uses all of the running office, as members, operators and people at the
// gate do, and with every kind of bad input. Each request and each answer is judged
// by the file, and in the end every answer of the file was seen, or is in the list of
// those that cannot be caused.
func TestWalk(t *testing.T) {
	f := readOpenAPI(t)
	o := theOffice(t)
	w := newWalker(f, o)
	admin := o.app.AdminToken()

	t.Run("pages", func(t *testing.T) { walkPages(t, w) })
	t.Run("login", func(t *testing.T) { walkLogin(t, w) })
	t.Run("queue", func(t *testing.T) { walkQueue(t, w, admin) })
	t.Run("opening", func(t *testing.T) { walkOpening(t, w, admin) })
	t.Run("gate", func(t *testing.T) { walkGate(t, w, admin) })
	t.Run("booking", func(t *testing.T) { walkBooking(t, w) })
	t.Run("payments", func(t *testing.T) { walkPayments(t, w) })
	t.Run("transfers", func(t *testing.T) { walkTransfers(t, w) })
	t.Run("door", func(t *testing.T) { walkDoor(t, w, admin) })
	t.Run("community", func(t *testing.T) { walkCommunity(t, w, admin) })
	t.Run("inbox", func(t *testing.T) { walkInbox(t, w, admin) })
	t.Run("chat", func(t *testing.T) { walkChat(t, w) })
	t.Run("socket", func(t *testing.T) { walkSocket(t, w) })
	t.Run("streams", func(t *testing.T) { walkStreams(t, w) })
	t.Run("artists", func(t *testing.T) { walkArtists(t, w) })
	t.Run("operator", func(t *testing.T) { walkOperator(t, w, admin) })
	t.Run("groups", func(t *testing.T) { walkGroups(t, w, admin) })
	t.Run("letters", func(t *testing.T) { walkLetters(t, w, o, admin) })
	t.Run("sold out", func(t *testing.T) { walkSoldOut(t, w) })
	t.Run("who may", func(t *testing.T) { walkWhoMay(t, w) })
	t.Run("large bodies", func(t *testing.T) { walkLarge(t, w, admin) })
	t.Run("unknown shows", func(t *testing.T) { walkUnknownShows(t, w, admin) })
	t.Run("unknown routes", func(t *testing.T) { walkUnknownRoutes(t, w) })
	t.Run("messages", func(t *testing.T) { walkMessages(t, w, o) })
	if t.Failed() {
		return // the rest would only repeat it
	}
	for _, wrong := range judgeCoverage(f.outcomes(), w.seen, uncaused()) {
		t.Error(wrong)
	}
}

// judgeCoverage lists outcomes that were neither seen nor excused, and excuses
// without an outcome.
func judgeCoverage(documented []string, seen map[string]bool, excuses []excuse) (wrong []string) {
	used := make([]bool, len(excuses))
	for _, one := range documented {
		if seen[one] {
			continue
		}
		i := slices.IndexFunc(excuses, func(e excuse) bool { return e.matches(one) })
		if i < 0 {
			wrong = append(wrong, "the walk has not seen "+one)
			continue
		}
		used[i] = true
	}
	for one := range seen {
		if !slices.Contains(documented, one) {
			wrong = append(wrong, "the walk has seen "+one+", which the file does not name")
		}
	}
	for i, e := range excuses {
		if !used[i] {
			wrong = append(wrong, "uncaused excuses "+e.what+", and the walk sees it, or there is no such answer: take it out")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// excuse is why the walk cannot cause an answer. Its outcome begins with an
// operation, or with * for every one.
type excuse struct{ what, why string }

func (e excuse) matches(outcome string) bool {
	if rest, every := strings.CutPrefix(e.what, "*"); every {
		_, of, _ := strings.Cut(outcome, " ")
		return " "+of == rest
	}
	return e.what == outcome
}

// uncaused are the answers that a healthy box office does not give, and the tests
// that cause them instead.
func uncaused() []excuse {
	return []excuse{
		{"* 500 internal", "it is a fault of the program: TestInternalError in api"},
		{"* 503 unavailable", "a dependency is away: TestRoomAway in api, TestRedisAway in live, TestEdgeAway in site"},
		{"* 503 busy", "256 writers are at work: TestBusy in api"},
		{"getArtist 503 artists-off", "the office has no Redis: TestArtistsOff in app"},
		{"getArtistHistory 503 artists-off", "the office has no Redis: TestArtistsOff in app"},
		{"refreshArtist 503 artists-off", "the office has no Redis: TestArtistsOff in app"},
		{"refreshArtist 409 artist-resting", "the simulated API fails for no artist: TestArtistRefreshAndHistory in app"},
		{"transfer 409 refund-in-progress", "it is over too soon here: TestTransferRefusals in payment"},
		{"acceptTransfer 409 refund-in-progress", "it is over too soon here: TestAcceptTooLate in payment"},
		{"acceptTransfer 409 not-confirmed", "the ticket is refunded by then: TestAcceptAfterRefund in payment"},
		{"listGroups 409 groups-unsupported", "the office's transport can: TestGroupErrors in api"},
		{"resetGroup 409 groups-unsupported", "the office's transport can: TestGroupErrors in api"},
		{"pageScan 503", "the database is away: TestBackendFails in site"},
		{"gateCheck 410 position-lost", "the gate's store has lost it: TestHTTP in ../../../queue/frontgate"},
		{"stream 503 about:blank", "Redis is away: TestRedisAway in live"},
		{"pageHome 503", "the database is away: TestBackendFails in site"},
		{"pageShow 503", "the database is away: TestBackendFails in site"},
		{"pageSeats 503", "the gate's store is away: TestEdgeAway in site"},
		{"openRoom 503 no-sockets", "the process is about to end"},
		{"ready 503", "the process has only begun, or its database is away"},
	}
}

var namedTest = regexp.MustCompile(`(Test\w+) in ([\w./]+)`)

// TestExcuses: the tests that the excuses name exist.
func TestExcuses(t *testing.T) {
	for _, e := range uncaused() {
		for _, named := range namedTest.FindAllStringSubmatch(e.why, -1) {
			if !isTest(t, named[2], named[1]) {
				t.Errorf("%s: there is no %s", e.what, named[0])
			}
		}
	}
}

func isTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(text), "func "+name+"(")
	})
}
