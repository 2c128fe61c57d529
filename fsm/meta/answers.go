package meta

import (
	"github.com/houseful/houseful/fsm"
)

// answers keeps what commands were answered for as long as a retry may arrive: a command is refused after its
// notAfter, which is at most fsm.CommandLifeMax away, so an answer is needed no longer than that.
type answers struct {
	byID  map[fsm.CommandID]*Result
	queue []answer // by keptUntil, because log time does not go back
}

type answer struct {
	id        fsm.CommandID
	keptUntil fsm.Time
	result    *Result
}

func newAnswers() answers { return answers{byID: map[fsm.CommandID]*Result{}} }

func (a *answers) find(id fsm.CommandID) (*Result, bool) {
	result, ok := a.byID[id]
	return result, ok
}

func (a *answers) full() bool { return len(a.queue) >= AnswersMax }

func (a *answers) add(kept answer) {
	a.byID[kept.id] = kept.result
	a.queue = append(a.queue, kept)
}

// forget drops what no retry can ask for any more.
func (a *answers) forget(now fsm.Time) {
	dropped := 0
	for dropped < len(a.queue) && a.queue[dropped].keptUntil < now {
		delete(a.byID, a.queue[dropped].id)
		dropped++
	}
	if dropped == len(a.queue) {
		a.queue = nil // lets go of the array
		return
	}
	a.queue = a.queue[dropped:]
}

// keep remembers an answer that was given at now.
func (a *answers) keep(id fsm.CommandID, now fsm.Time, result *Result) {
	a.add(answer{id: id, keptUntil: now.Add(fsm.CommandLifeMax), result: result})
}
