package millrace

import "github.com/millrace-go/millrace/outbox"

// Box is the App's outbox, for events that are not made by Emit.
func (a *App[Tx]) Box() *outbox.Outbox { return a.box }
