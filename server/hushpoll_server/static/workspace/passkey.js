// Passkeys: a form carries what the browser needs to make or use one, and sends what comes of it in a hidden field.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const descriptors = (list) => list?.map((one) => ({ ...one, id: bytes(one.id) }));

const asks = {
  create: (options) =>
    navigator.credentials.create({
      publicKey: {
        ...options,
        challenge: bytes(options.challenge),
        user: { ...options.user, id: bytes(options.user.id) },
        excludeCredentials: descriptors(options.excludeCredentials),
      },
    }),
  get: (options) =>
    navigator.credentials.get({
      publicKey: {
        ...options,
        challenge: bytes(options.challenge),
        allowCredentials: descriptors(options.allowCredentials),
      },
    }),
};

const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

function written({ id, rawId, type, response }) {
  const parts = PARTS.filter((name) => response[name]).map((name) => [name, text(response[name])]);
  return JSON.stringify({ id, rawId: text(rawId), type, response: Object.fromEntries(parts), clientExtensionResults: {} });
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const problem = form.querySelector("[role=status]");
  const tell = (message) => {
    problem.textContent = message;
    problem.hidden = false;
  };
  if (!window.PublicKeyCredential) {
    tell(form.dataset.missing);
    continue;
  }
  form.querySelector("button").disabled = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      const credential = await asks[form.dataset.passkey](JSON.parse(form.dataset.options));
      form.elements.credential.value = written(credential);
    } catch {
      delete form.dataset.sending;
      return tell(form.dataset.failed);
    }
    form.submit();
  });
}
