package queuehttp

var (
	AppendPlace = appendPlace
	AppendState = appendState
)
