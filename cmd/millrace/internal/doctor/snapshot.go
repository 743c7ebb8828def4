package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/outbox/driver"
)

// oldSnapshot is the age from which a snapshot is worth a warning, as in the alert
// OutboxOldSnapshot.
const oldSnapshot = time.Hour

// snapshot checks how long the server has been kept from removing dead rows, and the cause.
// Millrace's tables have many: each event is deleted in the end.
func (e *examination) snapshot(ctx context.Context, d *database.Database) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	teller, err := d.Snapshotter()
	if err == nil && teller == nil {
		return
	}
	var oldest driver.Snapshot
	if err == nil {
		oldest, err = teller.OldestSnapshot(ctx)
	}
	if err != nil {
		e.add(Warning, "snapshot", fmt.Sprintf("the server does not tell its oldest snapshot: %s", e.said(err)), "the server's log says more")
		return
	}
	e.judgeSnapshot(d.Dialect, oldest)
}

func (e *examination) judgeSnapshot(dialect database.Dialect, oldest driver.Snapshot) {
	age, holder := oldest.Age.Round(time.Second), e.quoted(oldest.Holder)
	switch {
	case holder == "":
		e.ok("snapshot", "no transaction is open")
	case oldest.Age < oldSnapshot:
		e.ok("snapshot", "the oldest snapshot is %s old: %s", age, holder)
	case dialect == database.MySQL:
		e.add(Warning, "snapshot", fmt.Sprintf("a transaction is open for %s, and InnoDB purges nothing that was deleted since: %s", age, holder),
			"commit it, or KILL its connection; XA RECOVER lists prepared ones, XA COMMIT or XA ROLLBACK ends them")
	default:
		e.add(Warning, "snapshot", fmt.Sprintf("a snapshot is held for %s, and vacuum clears away nothing that was deleted since: %s", age, holder),
			"end the transaction, or SELECT pg_terminate_backend(its session); COMMIT PREPARED or ROLLBACK PREPARED; drop a slot that nothing reads. idle_in_transaction_session_timeout prevents it")
	}
}
