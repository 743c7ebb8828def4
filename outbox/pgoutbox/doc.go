package pgoutbox
