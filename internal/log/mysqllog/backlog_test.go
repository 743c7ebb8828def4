package mysqllog

import (
	"testing"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestBacklogOfALaneWithoutACursor: the consumer's cursor in another lane, which is at a later
// place, does not hide the backlog.
func TestBacklogOfALaneWithoutACursor(t *testing.T) {
	servicetest.EachMySQL(t, testBacklogOfALaneWithoutACursor)
}

func testBacklogOfALaneWithoutACursor(t *testing.T, _ servicetest.MySQLServer) {
	s := newStage(t)
	s.leap = dense
	s.add(t, "a", 3)
	lease := s.lease(t)
	page := s.read(t, lease.Position, 10, 3)
	s.advance(t, &lease, page[2].Position)
	s.add(t, "b", 1)
	s.exec(t, `UPDATE log_messages SET lane = 2 WHERE message_id = 'b 0'`)
	if page, _, err := s.Read(t.Context(), 2, log.Position{}, 10); err != nil || len(page) != 1 {
		t.Fatalf("read %d entries of lane 2, %v; want 1", len(page), err)
	}
	if n, _, err := s.Backlog(t.Context(), cursor, 2, 10); err != nil || n != 1 {
		t.Errorf("the backlog is %d, %v; want 1", n, err)
	}
}
