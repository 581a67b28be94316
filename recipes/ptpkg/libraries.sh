# Builds fmt, zstd, libzip and a small libcurl as static libraries below third_party/libraries. Run by bash -e in the source directory.
libraries=$SRC_DIR/third_party/libraries

# library NAME OPTION...: a static library from third_party/NAME.
library() {
  cmake -S "third_party/$1" -B "third_party/$1/out" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX="$libraries" -DCMAKE_INSTALL_LIBDIR=lib "${@:2}"
  cmake --build "third_party/$1/out" --target install
}

# Debian's fixes, less those that select another TLS library.
if [ ! -e third_party/curl/patched ]; then
  sed '/^90_/,$d; /^#/d; /^$/d' third_party/curl/debian/patches/series | while read -r name; do
    patch --silent -p1 -d third_party/curl <"third_party/curl/debian/patches/$name"
  done
  touch third_party/curl/patched
fi

library zstd/build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_MULTITHREAD_SUPPORT=ON
library fmt -DFMT_TEST=OFF -DFMT_DOC=OFF
library libzip -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF \
  -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
# Only http:, https: and file:, and no path of certificates: ptpkg looks for those of the system that it runs on.
disabled=()
for name in DICT FTP GOPHER IMAP LDAP LDAPS MQTT NTLM POP3 RTSP SMB SMTP TELNET TFTP; do
  disabled+=("-DCURL_DISABLE_$name=ON")
done
library curl -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DENABLE_MANUAL=OFF -DCURL_USE_OPENSSL=ON -DOPENSSL_USE_STATIC_LIBS=ON \
  -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_CA_FALLBACK=ON \
  -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DUSE_LIBIDN2=OFF "${disabled[@]}"
