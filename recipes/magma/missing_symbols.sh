# bash -e missing_symbols.sh LIBRARY.a: fails, and names them, if files of the library use symbols of MAGMA that none of
# them defines. LAPACK, BLAS and the toolkit's libraries are what users link. Leaves symbols.txt.
nm "$1" > symbols.txt
missing=$(awk 'NF == 3 && $2 ~ /[A-TV-Z]/ { defined[$3] = 1 } $1 == "U" && $2 ~ /magma/ { wanted[$2] = 1 }
               END { for (name in wanted) if (!(name in defined)) print name }' symbols.txt | sort)
if [ -n "$missing" ]; then
  echo "$1 lacks what its own files use:" $missing >&2
  exit 1
fi
