module once

go 1.19
