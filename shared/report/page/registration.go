package page

import (
	"fmt"
	"strings"
	"time"
)

// Size of the box in which a distribution is drawn.
const (
	distributionWidth = 300
	distributionBase  = 66 // y of the base of the bars
	distributionTop   = 16 // room for the count above the highest bar
)

// distribution is the registration times of a group, laid out.
type distribution struct {
	ID    string
	Group string
	Registration
	Columns  []column
	Deadline string // x of the deadline, "" if it is not among the buckets
	Due      string // the deadline in words
	Words    string
}

// column is a bucket, laid out.
type column struct {
	X, Width, Y, Height string
	Middle              string
	Above               string // y of the count
	Count               int
	Label               string // "" where labels would overlap
	Late                bool   // beyond the deadline
}

// distribute lays out the distribution of a group, nil if there is none. Buckets are drawn
// equally wide, for readability rather than to scale.
func distribute(id string, g Group) *distribution {
	if g.Registration == nil || len(g.Registration.Buckets) == 0 {
		return nil
	}
	r := *g.Registration
	d := &distribution{ID: id, Group: g.Name, Registration: r}
	most := 1
	for _, b := range r.Buckets {
		most = max(most, b.Count)
	}
	width := float64(distributionWidth) / float64(len(r.Buckets))
	each := 1 + int(36/width) // a label is at most 36 wide
	words := make([]string, 0, len(r.Buckets))
	lower := time.Duration(0)
	for i, b := range r.Buckets {
		height := float64(distributionBase-distributionTop) * float64(max(0, b.Count)) / float64(most)
		if b.Count > 0 {
			height = max(height, 1.5)
		}
		x := float64(i) * width
		c := column{
			X: number(x + 1.5), Width: number(max(1, width-3)), Y: number(distributionBase - height), Height: number(height),
			Middle: number(x + width/2), Above: number(distributionBase - height - 3), Count: b.Count, Late: r.Deadline > 0 && (b.UpTo == 0 || b.UpTo > r.Deadline),
		}
		bound := took(b.UpTo)
		if b.UpTo == 0 {
			bound = ">" + took(lower)
		}
		if (len(r.Buckets)-1-i)%each == 0 {
			c.Label = bound
		}
		if r.Deadline > 0 && r.Deadline > lower && (r.Deadline <= b.UpTo) {
			d.Deadline = number(x + width*float64(r.Deadline-lower)/float64(b.UpTo-lower))
		}
		words = append(words, fmt.Sprintf("%s: %d", bound, b.Count))
		lower = b.UpTo
		d.Columns = append(d.Columns, c)
	}
	if r.Deadline > 0 {
		d.Due = took(r.Deadline)
	}
	d.Words = strings.Join(words, ", ")
	return d
}
