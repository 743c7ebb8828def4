package logtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/steps"
)

func failoverCases() []testCase {
	return []testCase{
		{Name: "OtherServer", Run: otherServer},
		{Name: "OtherPosition", Run: otherPosition},
		{Name: "RowGone", Run: rowGone},
		{Name: "RowOfAnotherLane", Run: rowOfAnotherLane},
		{Name: "AdvanceAgain", Run: advanceAgain},
	}
}

// page adds three entries, takes the lease and reads them two at a time, like a reader with a
// backlog.
func (f *Fixture) page(ctx context.Context) (log.Lease, []log.Entry, error) {
	if err := f.add(ctx, cursor.Lane, "a", "b", "c"); err != nil {
		return log.Lease{}, nil, err
	}
	l, err := f.Log.Lease(ctx, cursor, "me", long)
	if err != nil {
		return log.Lease{}, nil, err
	}
	page, _, err := f.Log.Read(ctx, cursor.Lane, l.Position, 2)
	if err == nil && len(page) != 2 {
		err = fmt.Errorf("read %q, want two entries", ids(page))
	}
	return l, page, err
}

// left compares the entries that the next holder reads.
func (f *Fixture) left(ctx context.Context, want ...string) error {
	again, err := f.Log.Lease(ctx, cursor, "me", long)
	if err != nil {
		return err
	}
	_, err = f.wantRead(ctx, cursor.Lane, again.Position, 10, want...)
	return err
}

// otherServer has a lease and positions that name another run of the server, as after a
// failover, if the backend compares servers.
func otherServer(ctx context.Context, f *Fixture) error {
	l, page, err := f.page(ctx)
	if err != nil {
		return err
	}
	if l.Position.Server == "" {
		return nil // n/a: positions are right on every server
	}
	if got := page[1].Position.Server; got != l.Position.Server {
		return fmt.Errorf("an entry was read on server %q under a lease of %q", got, l.Position.Server)
	}
	moved := func(p log.Position) log.Position {
		p.Server += "0"
		return p
	}
	there := l
	there.Position = moved(l.Position)
	_, _, read := f.Log.Read(ctx, cursor.Lane, there.Position, 2)
	_, _, readOn := f.Log.Read(ctx, cursor.Lane, moved(page[1].Position), 2)
	return errors.Join(
		wantErr("read from another server's lease", read, log.ErrLeaseLost),
		wantErr("read on from another server's position", readOn, log.ErrLeaseLost),
		wantErr("renew another server's lease", f.Log.Renew(ctx, long, there), log.ErrLeaseLost),
		wantErr("advance under another server's lease", f.Log.Advance(ctx, there, moved(page[1].Position), long), log.ErrLeaseLost),
		wantErr("advance to another server's position", f.Log.Advance(ctx, l, moved(page[1].Position), long), log.ErrLeaseLost),
		wantErr("advance to where another server's lease stands", f.Log.Advance(ctx, there, there.Position, long), log.ErrLeaseLost),
		wantErr("renew", f.Log.Renew(ctx, long, l), nil),
		f.left(ctx, "a", "b", "c"),
	)
}

// otherPosition has holders with a wrong position of the cursor, as after a crash of the server
// that moves it back.
func otherPosition(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	l, page := steps.Two(f.page(ctx))
	ahead, behind := l, l
	ahead.Position = page[0].Position
	steps.Do(errors.Join(
		wantErr("renew ahead of the cursor", f.Log.Renew(ctx, long, ahead), log.ErrLeaseLost),
		wantErr("advance from ahead of the cursor", f.Log.Advance(ctx, ahead, page[1].Position, long), log.ErrLeaseLost),
		wantErr("advance", f.Log.Advance(ctx, l, page[0].Position, long), nil),
		wantErr("renew behind the cursor", f.Log.Renew(ctx, long, behind), log.ErrLeaseLost),
		wantErr("advance from behind the cursor", f.Log.Advance(ctx, behind, page[1].Position, long), log.ErrLeaseLost),
		wantErr("advance to behind the cursor", f.Log.Advance(ctx, behind, behind.Position, long), log.ErrLeaseLost),
		wantErr("renew at the cursor", f.Log.Renew(ctx, long, ahead), nil),
	))
	return f.left(ctx, "b", "c")
}

// rowGone deletes a row that was read, as a crash of the server may.
func rowGone(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	l, page := steps.Two(f.page(ctx))
	steps.Get(f.DB.ExecContext(ctx, fmt.Sprintf(`DELETE FROM suite_messages WHERE id = %d`, page[1].ID)))
	steps.Do(wantErr("advance to a row that has gone", f.Log.Advance(ctx, l, page[1].Position, long), log.ErrLeaseLost))
	return f.left(ctx, "a", "c")
}

// rowOfAnotherLane assigns the id of a row that was read to another lane, as a server may that lost
// the row in a crash.
func rowOfAnotherLane(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	l, page := steps.Two(f.page(ctx))
	steps.Get(f.DB.ExecContext(ctx, fmt.Sprintf(`UPDATE suite_messages SET lane = %d WHERE id = %d`, cursor.Lane+1, page[1].ID)))
	steps.Do(wantErr("advance to a row of another lane", f.Log.Advance(ctx, l, page[1].Position, long), log.ErrLeaseLost))
	return f.left(ctx, "a", "c")
}

// advanceAgain repeats an Advance, as a holder does after an unknown outcome, also when the row
// behind which the cursor stands was deleted since.
func advanceAgain(ctx context.Context, f *Fixture) (err error) {
	defer steps.End(&err)
	l, page := steps.Two(f.page(ctx))
	for range 2 {
		steps.Do(f.Log.Advance(ctx, l, page[0].Position, long))
	}
	steps.Get(f.DB.ExecContext(ctx, fmt.Sprintf(`DELETE FROM suite_messages WHERE id = %d`, page[0].ID)))
	l.Position = page[0].Position
	return errors.Join(
		wantErr("renew", f.Log.Renew(ctx, long, l), nil),
		wantErr("advance to where the cursor stands", f.Log.Advance(ctx, l, l.Position, long), nil),
		wantErr("advance from there", f.Log.Advance(ctx, l, page[1].Position, long), nil),
		f.left(ctx, "c"),
	)
}
