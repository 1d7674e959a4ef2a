// Calls of the server. What goes wrong is a Refused with a sentence for the user.
class Refused extends Error {}

let token = "";  // lives as long as the page

const reason = given => {  // an error of the server in words
  const detail = given?.error ?? given?.detail ?? given;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) return detail.map(reason).filter(Boolean).join("; ");
  return [detail?.what ?? detail?.message ?? detail?.msg, detail?.way_out ?? detail?.fix].filter(Boolean).join(". ");
};

async function call(path, {body, signal} = {}) {
  const headers = {...body === undefined ? {} : {"Content-Type": "application/json"}, ...token ? {Authorization: `Bearer ${token}`} : {}};
  let response;
  try {
    response = await fetch(path, {method: body === undefined ? "GET" : "POST", headers, body, signal, cache: "no-store"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(words("away"));
  }
  if (response.ok) return response;
  if (response.status === 401) await askForToken();
  if (response.status === 401) return call(path, {body, signal});
  const text = await response.text();
  let why = "";
  try { why = reason(JSON.parse(text)); } catch { why = text.slice(0, 300); }
  if (response.status === 503) why = [why, words("busy", response.headers.get("Retry-After") ?? 1)].filter(Boolean).join(" ");
  throw new Refused(why || words("failed", response.status));
}

const asked = async (path, body, signal) =>
  (await call(path, {body: body === undefined ? undefined : JSON.stringify(body), signal})).json();

function askForToken() {
  const form = at("token"), field = at("token-text");
  if (token) tell(words("wrongToken"));
  form.hidden = false;
  field.focus();
  return new Promise(resolve => form.addEventListener("submit", event => {
    event.preventDefault();
    token = field.value;
    field.value = "";
    form.hidden = true;
    tell("");
    resolve();
  }, {once: true}));
}

function tell(problem) {
  at("problem").textContent = problem;
  at("problem").hidden = !problem;
}
