package millrace

import "github.com/millrace-go/millrace/outbox"

// Box returns the App's outbox, for events that Emit did not create.
func (a *App[Tx]) Box() *outbox.Outbox { return a.box }
