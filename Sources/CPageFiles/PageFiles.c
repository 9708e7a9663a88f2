// The files of the web page, listed in clients/web/src/files.js, and of the console. A file is embedded here and is in a table below.
#include "CPageFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../../clients/web/index.html"
};
static const unsigned char home_webmanifest[] = {
#embed "../../clients/web/home.webmanifest"
};
static const unsigned char manifest_webmanifest[] = {
#embed "../../clients/web/manifest.webmanifest"
};
static const unsigned char style_css[] = {
#embed "../../clients/web/style.css"
};
static const unsigned char worker_js[] = {
#embed "../../clients/web/worker.js"
};
static const unsigned char icons_apple_touch_icon_png[] = {
#embed "../../clients/web/icons/apple-touch-icon.png"
};
static const unsigned char icons_badge_png[] = {
#embed "../../clients/web/icons/badge.png"
};
static const unsigned char icons_icon_svg[] = {
#embed "../../clients/web/icons/icon.svg"
};
static const unsigned char icons_icon_192_png[] = {
#embed "../../clients/web/icons/icon-192.png"
};
static const unsigned char icons_icon_512_png[] = {
#embed "../../clients/web/icons/icon-512.png"
};
static const unsigned char icons_maskable_png[] = {
#embed "../../clients/web/icons/maskable.png"
};
static const unsigned char src_answering_js[] = {
#embed "../../clients/web/src/answering.js"
};
static const unsigned char src_api_js[] = {
#embed "../../clients/web/src/api.js"
};
static const unsigned char src_app_js[] = {
#embed "../../clients/web/src/app.js"
};
static const unsigned char src_badge_js[] = {
#embed "../../clients/web/src/badge.js"
};
static const unsigned char src_camera_js[] = {
#embed "../../clients/web/src/camera.js"
};
static const unsigned char src_database_js[] = {
#embed "../../clients/web/src/database.js"
};
static const unsigned char src_diagnosis_js[] = {
#embed "../../clients/web/src/diagnosis.js"
};
static const unsigned char src_dom_js[] = {
#embed "../../clients/web/src/dom.js"
};
static const unsigned char src_facts_js[] = {
#embed "../../clients/web/src/facts.js"
};
static const unsigned char src_files_js[] = {
#embed "../../clients/web/src/files.js"
};
static const unsigned char src_history_js[] = {
#embed "../../clients/web/src/history.js"
};
static const unsigned char src_icons_js[] = {
#embed "../../clients/web/src/icons.js"
};
static const unsigned char src_items_js[] = {
#embed "../../clients/web/src/items.js"
};
static const unsigned char src_keys_js[] = {
#embed "../../clients/web/src/keys.js"
};
static const unsigned char src_library_js[] = {
#embed "../../clients/web/src/library.js"
};
static const unsigned char src_link_js[] = {
#embed "../../clients/web/src/link.js"
};
static const unsigned char src_main_js[] = {
#embed "../../clients/web/src/main.js"
};
static const unsigned char src_message_js[] = {
#embed "../../clients/web/src/message.js"
};
static const unsigned char src_notification_js[] = {
#embed "../../clients/web/src/notification.js"
};
static const unsigned char src_pairings_js[] = {
#embed "../../clients/web/src/pairings.js"
};
static const unsigned char src_platform_js[] = {
#embed "../../clients/web/src/platform.js"
};
static const unsigned char src_preferences_js[] = {
#embed "../../clients/web/src/preferences.js"
};
static const unsigned char src_presence_js[] = {
#embed "../../clients/web/src/presence.js"
};
static const unsigned char src_pushes_js[] = {
#embed "../../clients/web/src/pushes.js"
};
static const unsigned char src_questions_js[] = {
#embed "../../clients/web/src/questions.js"
};
static const unsigned char src_registration_js[] = {
#embed "../../clients/web/src/registration.js"
};
static const unsigned char src_routes_js[] = {
#embed "../../clients/web/src/routes.js"
};
static const unsigned char src_store_js[] = {
#embed "../../clients/web/src/store.js"
};
static const unsigned char src_subscription_js[] = {
#embed "../../clients/web/src/subscription.js"
};
static const unsigned char src_texts_js[] = {
#embed "../../clients/web/src/texts.js"
};
static const unsigned char src_views_check_js[] = {
#embed "../../clients/web/src/views/check.js"
};
static const unsigned char src_views_item_js[] = {
#embed "../../clients/web/src/views/item.js"
};
static const unsigned char src_views_list_js[] = {
#embed "../../clients/web/src/views/list.js"
};
static const unsigned char src_views_pair_js[] = {
#embed "../../clients/web/src/views/pair.js"
};
static const unsigned char src_views_pairing_js[] = {
#embed "../../clients/web/src/views/pairing.js"
};
static const unsigned char src_views_questions_js[] = {
#embed "../../clients/web/src/views/questions.js"
};
static const unsigned char src_views_scan_js[] = {
#embed "../../clients/web/src/views/scan.js"
};
static const unsigned char src_views_settings_js[] = {
#embed "../../clients/web/src/views/settings.js"
};
static const unsigned char src_views_shell_js[] = {
#embed "../../clients/web/src/views/shell.js"
};
static const unsigned char src_views_tokens_js[] = {
#embed "../../clients/web/src/views/tokens.js"
};
static const unsigned char js_src_bytes_js[] = {
#embed "../../clients/js/src/bytes.js"
};
static const unsigned char js_src_content_js[] = {
#embed "../../clients/js/src/content.js"
};
static const unsigned char js_src_cryptography_js[] = {
#embed "../../clients/js/src/cryptography.js"
};
static const unsigned char js_src_envelope_js[] = {
#embed "../../clients/js/src/envelope.js"
};
static const unsigned char js_src_json_js[] = {
#embed "../../clients/js/src/json.js"
};
static const unsigned char js_src_keys_js[] = {
#embed "../../clients/js/src/keys.js"
};
static const unsigned char js_src_members_js[] = {
#embed "../../clients/js/src/members.js"
};
static const unsigned char js_src_pairing_js[] = {
#embed "../../clients/js/src/pairing.js"
};
static const unsigned char js_src_payload_js[] = {
#embed "../../clients/js/src/payload.js"
};
static const unsigned char js_src_questions_js[] = {
#embed "../../clients/js/src/questions.js"
};
static const unsigned char js_src_relay_error_js[] = {
#embed "../../clients/js/src/relay-error.js"
};
static const unsigned char js_src_replay_js[] = {
#embed "../../clients/js/src/replay.js"
};
static const unsigned char js_src_requests_js[] = {
#embed "../../clients/js/src/requests.js"
};
static const unsigned char js_src_web_push_js[] = {
#embed "../../clients/js/src/web-push.js"
};

#define FILE(path, bytes) {path, bytes, sizeof bytes}
static const struct page_file files[] = {
    FILE("index.html", index_html),
    FILE("home.webmanifest", home_webmanifest),
    FILE("manifest.webmanifest", manifest_webmanifest),
    FILE("style.css", style_css),
    FILE("worker.js", worker_js),
    FILE("icons/apple-touch-icon.png", icons_apple_touch_icon_png),
    FILE("icons/badge.png", icons_badge_png),
    FILE("icons/icon.svg", icons_icon_svg),
    FILE("icons/icon-192.png", icons_icon_192_png),
    FILE("icons/icon-512.png", icons_icon_512_png),
    FILE("icons/maskable.png", icons_maskable_png),
    FILE("src/answering.js", src_answering_js),
    FILE("src/api.js", src_api_js),
    FILE("src/app.js", src_app_js),
    FILE("src/badge.js", src_badge_js),
    FILE("src/camera.js", src_camera_js),
    FILE("src/database.js", src_database_js),
    FILE("src/diagnosis.js", src_diagnosis_js),
    FILE("src/dom.js", src_dom_js),
    FILE("src/facts.js", src_facts_js),
    FILE("src/files.js", src_files_js),
    FILE("src/history.js", src_history_js),
    FILE("src/icons.js", src_icons_js),
    FILE("src/items.js", src_items_js),
    FILE("src/keys.js", src_keys_js),
    FILE("src/library.js", src_library_js),
    FILE("src/link.js", src_link_js),
    FILE("src/main.js", src_main_js),
    FILE("src/message.js", src_message_js),
    FILE("src/notification.js", src_notification_js),
    FILE("src/pairings.js", src_pairings_js),
    FILE("src/platform.js", src_platform_js),
    FILE("src/preferences.js", src_preferences_js),
    FILE("src/presence.js", src_presence_js),
    FILE("src/pushes.js", src_pushes_js),
    FILE("src/questions.js", src_questions_js),
    FILE("src/registration.js", src_registration_js),
    FILE("src/routes.js", src_routes_js),
    FILE("src/store.js", src_store_js),
    FILE("src/subscription.js", src_subscription_js),
    FILE("src/texts.js", src_texts_js),
    FILE("src/views/check.js", src_views_check_js),
    FILE("src/views/item.js", src_views_item_js),
    FILE("src/views/list.js", src_views_list_js),
    FILE("src/views/pair.js", src_views_pair_js),
    FILE("src/views/pairing.js", src_views_pairing_js),
    FILE("src/views/questions.js", src_views_questions_js),
    FILE("src/views/scan.js", src_views_scan_js),
    FILE("src/views/settings.js", src_views_settings_js),
    FILE("src/views/shell.js", src_views_shell_js),
    FILE("src/views/tokens.js", src_views_tokens_js),
    FILE("js/src/bytes.js", js_src_bytes_js),
    FILE("js/src/content.js", js_src_content_js),
    FILE("js/src/cryptography.js", js_src_cryptography_js),
    FILE("js/src/envelope.js", js_src_envelope_js),
    FILE("js/src/json.js", js_src_json_js),
    FILE("js/src/keys.js", js_src_keys_js),
    FILE("js/src/members.js", js_src_members_js),
    FILE("js/src/pairing.js", js_src_pairing_js),
    FILE("js/src/payload.js", js_src_payload_js),
    FILE("js/src/questions.js", js_src_questions_js),
    FILE("js/src/relay-error.js", js_src_relay_error_js),
    FILE("js/src/replay.js", js_src_replay_js),
    FILE("js/src/requests.js", js_src_requests_js),
    FILE("js/src/web-push.js", js_src_web_push_js),
};

const size_t page_files_count = sizeof files / sizeof *files;

const struct page_file *page_files(void) {
    return files;
}

// The files of the operator's console in clients/console, two of which are links to those of clients/web.
static const unsigned char console_index_html[] = {
#embed "../../clients/console/index.html"
};
static const unsigned char console_icon_svg[] = {
#embed "../../clients/console/icon.svg"
};
static const unsigned char console_style_css[] = {
#embed "../../clients/console/style.css"
};
static const unsigned char console_src_api_js[] = {
#embed "../../clients/console/src/api.js"
};
static const unsigned char console_src_chart_js[] = {
#embed "../../clients/console/src/chart.js"
};
static const unsigned char console_src_dom_js[] = {
#embed "../../clients/console/src/dom.js"
};
static const unsigned char console_src_format_js[] = {
#embed "../../clients/console/src/format.js"
};
static const unsigned char console_src_life_js[] = {
#embed "../../clients/console/src/life.js"
};
static const unsigned char console_src_main_js[] = {
#embed "../../clients/console/src/main.js"
};
static const unsigned char console_src_poll_js[] = {
#embed "../../clients/console/src/poll.js"
};
static const unsigned char console_src_series_js[] = {
#embed "../../clients/console/src/series.js"
};
static const unsigned char console_src_table_js[] = {
#embed "../../clients/console/src/table.js"
};
static const unsigned char console_src_words_js[] = {
#embed "../../clients/console/src/words.js"
};
static const unsigned char console_src_views_apps_js[] = {
#embed "../../clients/console/src/views/apps.js"
};
static const unsigned char console_src_views_overview_js[] = {
#embed "../../clients/console/src/views/overview.js"
};
static const unsigned char console_src_views_push_js[] = {
#embed "../../clients/console/src/views/push.js"
};
static const unsigned char console_src_views_queue_js[] = {
#embed "../../clients/console/src/views/queue.js"
};
static const unsigned char console_src_views_settings_js[] = {
#embed "../../clients/console/src/views/settings.js"
};
static const unsigned char console_src_views_tenants_js[] = {
#embed "../../clients/console/src/views/tenants.js"
};

static const struct page_file console[] = {
    FILE("index.html", console_index_html),
    FILE("icon.svg", console_icon_svg),
    FILE("style.css", console_style_css),
    FILE("src/api.js", console_src_api_js),
    FILE("src/chart.js", console_src_chart_js),
    FILE("src/dom.js", console_src_dom_js),
    FILE("src/format.js", console_src_format_js),
    FILE("src/life.js", console_src_life_js),
    FILE("src/main.js", console_src_main_js),
    FILE("src/poll.js", console_src_poll_js),
    FILE("src/series.js", console_src_series_js),
    FILE("src/table.js", console_src_table_js),
    FILE("src/words.js", console_src_words_js),
    FILE("src/views/apps.js", console_src_views_apps_js),
    FILE("src/views/overview.js", console_src_views_overview_js),
    FILE("src/views/push.js", console_src_views_push_js),
    FILE("src/views/queue.js", console_src_views_queue_js),
    FILE("src/views/settings.js", console_src_views_settings_js),
    FILE("src/views/tenants.js", console_src_views_tenants_js),
};

const size_t console_files_count = sizeof console / sizeof *console;

const struct page_file *console_files(void) {
    return console;
}
