# OpenSSL, by which ranks on a network authenticate each other, and encrypt. Sets TUTTI_OPENSSL, and
# TUTTI_OPENSSL_WHY. Without it tutti listens on the loopback only.
set(TUTTI_OPENSSL OFF)
set(TUTTI_OPENSSL_WHY "TUTTI_BUILD_OPENSSL is OFF")
if(TUTTI_BUILD_OPENSSL)
  tutti_find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto SSL)
  set(TUTTI_OPENSSL_WHY "no OpenSSL 3 found; tutti listens on the loopback only")
  if(OPENSSL_FOUND)
    set(TUTTI_OPENSSL ON)
    set(TUTTI_OPENSSL_WHY "${OPENSSL_VERSION}")
  endif()
endif()
