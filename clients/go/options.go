package once

import "time"

// What calls may be told besides. Each call takes options of a type of its own, so that one that does not fit does not
// compile: log.Append(ctx, events, once.Batch("b-1")), tally.Add(ctx, 1900, once.ID("invoice-42")).
type settings struct {
	batch       string
	expect      int64
	ttl         time.Duration
	id          string
	idTTL       time.Duration
	from        int64
	limit       int64
	since       time.Time
	descending  bool
	failure     *error
	create      bool
	ifMatch     string
	contentType string
	at          time.Time
	window      string
	shape       Shape
	start, end  time.Time
	last        time.Duration
}

type option interface{ apply(*settings) }

// AppendOption is one of Log.Append: Batch, Expect, TTL, IDTTL.
type AppendOption interface {
	option
	appends()
}

// ReadOption is one of Log.Read: From, Limit, Since, Descending.
type ReadOption interface {
	option
	reads()
}

// FollowOption is one of Log.Follow: From, Since, Limit, ErrorTo.
type FollowOption interface {
	option
	follows()
}

// PutOption is one of Document.Put: Create or IfMatch, and ID, TTL, ContentType.
type PutOption interface {
	option
	puts()
}

// ChangeOption is one of Document.Patch and Document.Delete: IfMatch, ID, and for a patch TTL.
type ChangeOption interface {
	option
	changes()
}

// UpdateOption is one of Document.Update: TTL.
type UpdateOption interface {
	option
	updates()
}

// MergeOption is one of Tally.Add and the like: ID, IDTTL, At, Window, TTL, Shape.
type MergeOption interface {
	option
	merges()
}

// RangeOption is one of Tally.Value and the like: Between, Last.
type RangeOption interface {
	option
	ranges()
}

// CommitOption is one of Client.Commit: ID.
type CommitOption interface {
	option
	commits()
}

// PartOption is one of Effects.Put and the like: Create, IfMatch.
type PartOption interface {
	option
	parts()
}

func gathered[T option](given []T) settings {
	var s settings
	for _, one := range given {
		one.apply(&s)
	}
	return s
}

// Batch is the id of an append: a repeat under it appends nothing.
type Batch string

func (o Batch) apply(s *settings) { s.batch = string(o) }
func (Batch) appends()            {}

// Expect is the index that the first event of an append must get.
type Expect int64

func (o Expect) apply(s *settings) { s.expect = int64(o) }
func (Expect) appends()            {}

// TTL is how long something is kept.
type TTL time.Duration

func (o TTL) apply(s *settings) { s.ttl = time.Duration(o) }
func (TTL) appends()            {}
func (TTL) puts()               {}
func (TTL) changes()            {}
func (TTL) updates()            {}
func (TTL) merges()             {}

// ID is the id of a change: a repeat under it changes nothing.
type ID string

func (o ID) apply(s *settings) { s.id = string(o) }
func (ID) puts()               {}
func (ID) changes()            {}
func (ID) merges()             {}
func (ID) commits()            {}

// IDTTL is how long ids are known.
type IDTTL time.Duration

func (o IDTTL) apply(s *settings) { s.idTTL = time.Duration(o) }
func (IDTTL) appends()            {}
func (IDTTL) merges()             {}

// From is the index to read or follow from; 1 without it.
type From int64

func (o From) apply(s *settings) { s.from = int64(o) }
func (From) reads()              {}
func (From) follows()            {}

// Limit is how many events there are at most.
type Limit int64

func (o Limit) apply(s *settings) { s.limit = int64(o) }
func (Limit) reads()              {}
func (Limit) follows()            {}

type since time.Time

func (o since) apply(s *settings) { s.since = time.Time(o) }
func (since) reads()              {}
func (since) follows()            {}

// SinceOption goes with Log.Read and with Log.Follow.
type SinceOption interface {
	ReadOption
	FollowOption
}

// Since begins at the first event that was appended then or later.
func Since(t time.Time) SinceOption { return since(t) }

type descending struct{}

func (descending) apply(s *settings) { s.descending = true }
func (descending) reads()            {}

// Descending reads the newest event first.
func Descending() ReadOption { return descending{} }

type errorTo struct{ into *error }

func (o errorTo) apply(s *settings) { s.failure = o.into }
func (errorTo) follows()            {}

// ErrorTo sets *into before the channel of a follow is closed: why it ended, or nil if the log is closed, the limit is
// reached or the context is over.
func ErrorTo(into *error) FollowOption { return errorTo{into} }

type create struct{}

func (create) apply(s *settings) { s.create = true }
func (create) puts()             {}
func (create) parts()            {}

// CreateOption goes with Document.Put and with Effects.Put.
type CreateOption interface {
	PutOption
	PartOption
}

// Create puts a document only if it does not exist.
func Create() CreateOption { return create{} }

// IfMatch changes a document only if it has this ETag.
type IfMatch string

func (o IfMatch) apply(s *settings) { s.ifMatch = unquoted(string(o)) }
func (IfMatch) puts()               {}
func (IfMatch) changes()            {}
func (IfMatch) parts()              {}

// ContentType of a document that is not JSON, whose value is then []byte or string.
type ContentType string

func (o ContentType) apply(s *settings) { s.contentType = string(o) }
func (ContentType) puts()               {}

type at time.Time

func (o at) apply(s *settings) { s.at = time.Time(o) }
func (at) merges()             {}

// At is the time whose bucket a change goes to; now without it.
func At(t time.Time) MergeOption { return at(t) }

// Window makes a tally one of buckets: "minute", "hour", "day", or a duration such as "15m".
type Window string

func (o Window) apply(s *settings) { s.window = string(o) }
func (Window) merges()             {}

// Shape is the size of a sketch; the first change of a tally fixes it.
type Shape struct {
	Precision int     `json:"precision,omitempty"` // Of distinct.
	Counters  int     `json:"counters,omitempty"`  // Of top.
	Capacity  int     `json:"capacity,omitempty"`  // Of bloom.
	Rate      float64 `json:"rate,omitempty"`      // Of bloom.
}

func (o Shape) apply(s *settings) { s.shape = o }
func (Shape) merges()             {}

type between struct{ start, end time.Time }

func (o between) apply(s *settings) { s.start, s.end = o.start, o.end }
func (between) ranges()             {}

// Between reads the buckets that start at or after start and before end. A zero time is no bound.
func Between(start, end time.Time) RangeOption { return between{start, end} }

// Last reads the buckets that overlap the time from now less that until now.
type Last time.Duration

func (o Last) apply(s *settings) { s.last = time.Duration(o) }
func (Last) ranges()             {}
