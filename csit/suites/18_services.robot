*** Settings ***
Documentation       Services on two nodes: an address that stands for pods here and there, in the client's namespace and in others.
Resource            ../resources/coeus.resource
Library             ../libraries/NorthSouth.py
Library             ../libraries/Services.py
Suite Setup         Start Two Nodes With Servers
Suite Teardown      Stop All

*** Variables ***
${WEB}              5e1f0000-0000-4000-8000-000000000001
${OLD}              5e1f0000-0000-4000-8000-000000000002
${DNS}              5e1f0000-0000-4000-8000-000000000003
${SERVICES}         ${CONFIG}/service:service-information/services
${ENDPOINTS}        ${CONFIG}/service:endpoints-info/endpoints
${WAIT}             wait=programmed&timeout=10s
${LOST}             ${OPERATIONAL}/coeus-external:lost-switches
${STATES}           ${OPERATIONAL}/coeus-service:service-states/service

*** Test Cases ***
Nobody Answers Before There Is A Service
    Service Should Be Silent    blue:c1    10.96.0.10    80

A Service Answers With All Its Endpoints
    [Documentation]    w1 is on the client's node, w2 on the other; ports are found by name.
    Put Service    ${WEB}    web    blue    10.96.0.10    http:TCP:80:http    dns:UDP:53:5353
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Endpoints    ${WEB}    web    blue    ${both}    http:TCP:8080    dns:UDP:5353
    Wait Until Keyword Succeeds    30 s    300 ms    Resource Should Say    ${STATES}/${WEB}    "state":"active"
    ${among}=    Create List    blue:w1    blue:w2
    Service Should Answer    blue:c1    10.96.0.10    80    among=${among}    times=16
    Service Should Answer    blue:c1    10.96.0.10    53    UDP    among=${among}    all_of_them=${False}

Every Pod In Every Namespace Reaches Every Service
    ${among}=    Create List    blue:w1    blue:w2
    FOR    ${pod}    IN    blue:c1    blue:c2    red:c3    red:c4
        Service Should Answer    ${pod}    10.96.0.10    80    among=${among}    times=16
        Service Should Answer    ${pod}    10.96.0.10    53    UDP    among=${among}    all_of_them=${False}
    END

Much Goes Through A Service
    FOR    ${pod}    IN    blue:c1    red:c4
        FOR    ${try}    IN RANGE    3
            ${bytes}=    Transfer Through Service    ${pod}    10.96.0.10    80
            Should Be Equal As Integers    ${bytes}    1048576
        END
    END

Namespaces Stay Apart But For Services
    Service Should Be Silent    red:c3    10.11.1.20    8080
    Service Should Be Silent    red:c4    10.11.1.20    8080
    Ping Should Fail    red:c3    10.11.1.20
    Ping Should Pass    blue:c1    10.11.2.20
    ${among}=    Create List    blue:w1
    Service Should Answer    blue:c1    10.11.1.20    8080    among=${among}    times=2
    Service Should Answer    blue:c2    10.11.1.20    8080    among=${among}    times=2

An Endpoint Does Not Reach Other Namespaces From Its Port
    [Documentation]    What comes from a port that serves is an answer only if somebody asked.
    Service Should Be Silent    blue:w1    10.11.1.30    7000

The Older Way Names Pods
    ${uid}=    Pod Uid    blue:w2
    ${pods}=    Create List    ${uid}
    Put Service    ${OLD}    old    blue    10.96.0.11    :TCP:81:8080    endpoints=${pods}
    ${among}=    Create List    blue:w2
    Service Should Answer    blue:c1    10.96.0.11    81    among=${among}    times=4
    Service Should Answer    red:c3    10.96.0.11    81    among=${among}    times=4

Version 6 Of A Service
    ${body}=    Service Body    ${OLD}    old    blue    fd96::11    :TCP:81:8080
    ${second}=    Create List    10.96.0.12
    Set To Dictionary    ${body}[service:services][0]    coeus-service:secondary-cluster-ip-address=${second}
    PUT On Session    coeus    ${SERVICES}/${OLD}    json=${body}    expected_status=200
    ${all}=    Create List    fd00:1::20    fd00:2::20    10.11.2.20
    Put Endpoints    ${OLD}    old    blue    ${all}    :TCP:8080
    ${among}=    Create List    blue:w1    blue:w2
    Service Should Answer    blue:c1    fd96::11    81    among=${among}    times=16
    Service Should Answer    blue:c2    fd96::11    81    among=${among}    times=16
    ${among}=    Create List    blue:w2
    Service Should Answer    red:c3    10.96.0.12    81    among=${among}    times=4

A Pod Reaches Itself Through Its Service
    ${among}=    Create List    blue:w1    blue:w2
    Service Should Answer    blue:w1    10.96.0.10    80    among=${among}    times=16
    Service Should Answer    blue:w2    10.96.0.10    53    UDP    among=${among}    all_of_them=${False}
    Service Should Answer    blue:w2    fd96::11    81    among=${among}    times=16

A Name Server In A Pod Is Asked By Its Service
    [Documentation]    dnsmasq, and the client's own resolver, in the server's namespace and in another one, by UDP and by TCP.
    Start Dns Server    blue:w2    web.blue.svc    10.96.0.10
    ${one}=    Create List    10.11.2.20
    Put Service    ${DNS}    dns    blue    10.96.0.53    dns:UDP:53:53    dns-tcp:TCP:53:53
    Put Endpoints    ${DNS}    dns    blue    ${one}    dns:UDP:53    dns-tcp:TCP:53
    FOR    ${pod}    IN    blue:c1    blue:c2    red:c3    red:c4
        Name Should Resolve    ${pod}    10.96.0.53    web.blue.svc    10.96.0.10
        Name Should Resolve    ${pod}    10.96.0.53    web.blue.svc    10.96.0.10    by_tcp=${True}
    END
    DELETE On Session    coeus    ${SERVICES}/${DNS}    expected_status=200
    DELETE On Session    coeus    ${ENDPOINTS}/${DNS}    expected_status=200

SCTP Is Led To Endpoints
    [Documentation]    The userspace datapath of Open vSwitch 3.1 translates SCTP's addresses and leaves its ports, and takes one endpoint a client.
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Service    ${DNS}    sctp    blue    10.96.0.54    :SCTP:9090:9090
    Put Endpoints    ${DNS}    sctp    blue    ${both}    :SCTP:9090
    FOR    ${pod}    IN    blue:c1    red:c4
        ${seen}=    Endpoints That See    ${pod}    10.96.0.54    9090    blue:w1    blue:w2
        Should Be Equal    ${{list($seen.values())}}    ${{[[9090]]}}
    END
    DELETE On Session    coeus    ${SERVICES}/${DNS}    expected_status=200
    DELETE On Session    coeus    ${ENDPOINTS}/${DNS}    expected_status=200

A Node Reaches Services And May Be Behind One
    [Documentation]    As the API server is: an address of the node, which no pod has.
    Route Pods Of Node    1    10.11.1.0/24
    Route Pods Of Node    1    10.96.0.0/16
    ${among}=    Create List    blue:w1    blue:w2
    Node Should Be Answered    1    10.96.0.10    80    ${among}
    Start Server On Node    1    6443    api
    ${address}=    Node Address    1
    ${one}=    Create List    ${address}
    Put Service    ${DNS}    api    red    10.96.0.1    https:TCP:443:6443
    Put Endpoints    ${DNS}    api    red    ${one}    https:TCP:6443
    ${among}=    Create List    api
    Service Should Answer    blue:c1    10.96.0.1    443    among=${among}    times=4
    Service Should Answer    red:c3    10.96.0.1    443    among=${among}    times=4
    Service Should Answer    red:c3    ${address}    6443    among=${among}    times=2
    DELETE On Session    coeus    ${SERVICES}/${DNS}    expected_status=200
    DELETE On Session    coeus    ${ENDPOINTS}/${DNS}    expected_status=200

A Client Keeps Its Endpoint While It Is There
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Service    ${DNS}    sticky    blue    10.96.0.55    :TCP:80:8080    coeus-service:session-affinity=ClientIP
    ...    coeus-service:session-affinity-timeout=3
    Put Endpoints    ${DNS}    sticky    blue    ${both}    :TCP:8080
    FOR    ${pod}    IN    blue:c1    red:c4
        # What a switch has learned holds once its datapath has taken it up.
        ${kept}=    Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer    ${pod}    10.96.0.55
    END
    ${other}    ${left}=    Set Variable If    '${kept}' == 'blue:w1'    ${{('blue:w2', '10.11.2.20')}}    ${{('blue:w1', '10.11.1.20')}}
    ${one}=    Create List    ${left}
    Put Endpoints    ${DNS}    sticky    blue    ${one}    :TCP:8080
    Service Should Answer    red:c4    10.96.0.55    80    times=4    among=${{[$other]}}
    # Who makes no new connection for so long is forgotten, and may go anywhere.
    Wait Until Keyword Succeeds    30 s    500 ms    Nothing Should Be Learned
    Service Should Answer    red:c4    10.96.0.55    80    times=1
    DELETE On Session    coeus    ${SERVICES}/${DNS}    expected_status=200
    DELETE On Session    coeus    ${ENDPOINTS}/${DNS}    expected_status=200

Addresses Come From The Pool
    ${pool}=    Evaluate    {"coeus-service:service-pool": {"ipv4-prefix": "10.97.0.0/16"}}
    PUT On Session    coeus    ${CONFIG}/coeus-service:service-pool    json=${pool}    expected_status=201
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Service    ${DNS}    free    blue    ${EMPTY}    :TCP:80:8080
    Put Endpoints    ${DNS}    free    blue    ${both}    :TCP:8080
    Resource Should Come To Say    ${STATES}/${DNS}    "10.97.0.1"    "state":"active"
    ${among}=    Create List    blue:w1    blue:w2
    Service Should Answer    red:c3    10.97.0.1    80    among=${among}    times=16
    ${body}=    Service Body    ${OLD}    old    blue    10.97.0.1    :TCP:81:8080
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${OLD}    json=${body}    expected_status=409
    Should Contain    ${answer.text}    (blue:free)
    DELETE On Session    coeus    ${SERVICES}/${DNS}    expected_status=200
    DELETE On Session    coeus    ${ENDPOINTS}/${DNS}    expected_status=200

An Endpoint That Goes Is Left At Once
    [Documentation]    A UDP sender that never pauses has somebody else within a second; a connection elsewhere lives on.
    ${both}=    Create List    10.11.1.20    10.11.2.20
    ${one}=    Create List    10.11.1.20
    ${name}=    Keep Connection    kept    red:c3    10.96.0.12    81
    FOR    ${left}    IN    10.11.1.20    10.11.2.20
        Put Endpoints    ${WEB}    web    blue    ${both}    http:TCP:8080    dns:UDP:5353
        ${one}=    Create List    ${left}
        ${away}=    Create List    Put Endpoints    ${WEB}    web    blue    ${one}    http:TCP:8080    dns:UDP:5353
        ${gone}=    Set Variable If    '${left}' == '10.11.1.20'    blue:w2    blue:w1
        ${asker}=    Client Of    ${gone}    10.96.0.10    53    blue:c1    blue:c2    red:c3    red:c4    blue:w1    blue:w2
        Udp Sender Should Move On    ${asker}    10.96.0.10    53    ${away}
    END
    Connection Should Live    kept

A Pod That Goes Is Left At Once
    [Documentation]    Its entry alone is deleted: the endpoints still name its address.
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Endpoints    ${WEB}    web    blue    ${both}    http:TCP:8080    dns:UDP:5353
    Keep Connection    stays    blue:c1    10.11.1.20    8080
    ${asker}=    Client Of    blue:w2    10.96.0.10    53    blue:c1    blue:c2    red:c3    red:c4    blue:w1
    ${uid}=    Pod Uid    blue:w2
    ${away}=    Create List    DELETE On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    params=${WAIT}
    Udp Sender Should Move On    ${asker}    10.96.0.10    53    ${away}
    ${here}=    Create List    blue:w1
    Service Should Answer    red:c4    10.96.0.10    80    among=${here}
    Connection Should Live    stays
    ${body}=    Dual Pod Body    w2    blue    2    10.11.2.20    fd00:2::20
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    params=${WAIT}    expected_status=201
    ${among}=    Create List    blue:w1    blue:w2
    Wait Until Keyword Succeeds    10 s    500 ms    Service Should Answer    red:c4    10.96.0.10    80    among=${among}    times=16

Endpoints Of A Lost Node Are Asked No More
    [Documentation]    Nobody takes them away: that the switch of node 2 is lost is enough. Who is told so moves on, datagrams included.
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Endpoints    ${WEB}    web    blue    ${both}    http:TCP:8080    dns:UDP:5353
    ${here}=    Create List    blue:w1
    ${among}=    Create List    blue:w1    blue:w2
    ${name}=    Keep Connection    here    blue:c1    10.11.1.20    8080
    ${asker}=    Client Of    blue:w2    10.96.0.10    53    blue:c1    red:c3    blue:w1
    ${away}=    Create List    Kill Daemon Of    2    vswitchd
    # Three seconds until it counts as lost, and some for what is done then.
    Udp Sender Should Move On    ${asker}    10.96.0.10    53    ${away}    seconds=10
    Resource Should Say    ${LOST}    switch
    Resource Should Say    ${STATES}/${WEB}    1 endpoints of TCP port 80 are on switch    which is lost    10.11.2.20:8080
    FOR    ${pod}    IN    blue:c1    red:c3    blue:w1
        Service Should Answer    ${pod}    10.96.0.10    80    among=${here}    times=24
        Service Should Answer    ${pod}    10.96.0.10    53    UDP    among=${here}
    END
    Connection Should Live    here
    # Of a service that has no other endpoint it stays one: there is nobody to ask in its place.
    Resource Should Say    ${STATES}/${OLD}    are asked all the same

And Are Again When It Is Back
    Start Daemon Of    2    vswitchd
    Wait Until Keyword Succeeds    60 s    500 ms    Resource Should Not Exist    ${LOST}
    ${among}=    Create List    blue:w1    blue:w2
    Wait Until Keyword Succeeds    20 s    500 ms    Service Should Answer    blue:c1    10.96.0.10    80    among=${among}    times=16
    Wait Until Keyword Succeeds    20 s    500 ms    Service Should Answer    red:c4    10.96.0.10    80    among=${among}    times=16
    Connection Should Live    here
    Resource Should Not Say    ${STATES}/${WEB}    lost

Without Endpoints Clients Are Refused
    ${none}=    Create List
    Put Endpoints    ${WEB}    web    blue    ${none}    http:TCP:8080    dns:UDP:5353
    FOR    ${pod}    IN    blue:c1    red:c4
        Service Should Refuse    ${pod}    10.96.0.10    80
        Service Should Refuse    ${pod}    10.96.0.10    53    UDP
    END
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Put Endpoints    ${WEB}    web    blue    ${both}    http:TCP:8080    dns:UDP:5353
    Service Should Answer    blue:c1    10.96.0.10    80    among=${{['blue:w1', 'blue:w2']}}    times=16

What Is Wrong Is Refused
    ${body}=    Service Body    ${DNS}    dns    red    10.96.0.10    :UDP:53:
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${DNS}    json=${body}    expected_status=409
    Should Contain    ${answer.text}    (blue:web)
    ${body}=    Service Body    ${DNS}    dns    red    10.96.0.13    :UDP:70000:
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${DNS}    json=${body}    expected_status=400
    Should Contain    ${answer.text}    70000
    Resource Should Not Exist    ${SERVICES}/${DNS}

The Switches Hold What The Data Ask For
    # What they have learned of clients is theirs, and ends by itself.
    Wait Until Keyword Succeeds    30 s    500 ms    Nothing Should Be Learned
    Tables Should Be As From Scratch
    ${among}=    Create List    blue:w1    blue:w2
    Service Should Answer    red:c4    10.96.0.10    80    among=${among}    times=16

*** Keywords ***
One Endpoint Should Answer
    [Documentation]    The same one twelve times.
    [Arguments]    ${pod}    ${address}
    ${answers}=    Service Should Answer    ${pod}    ${address}    80    times=12
    Length Should Be    ${answers}    1
    RETURN    ${{list($answers)[0]}}

Nothing Should Be Learned
    FOR    ${node}    IN    1    2
        ${learned}=    Flows Naming    ${node}    table=35, hard_timeout
        Should Be Empty    ${learned}
    END

Start Two Nodes With Servers
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create Dual Pod    w1    blue    1    10.11.1.20    fd00:1::20
    Create Dual Pod    w2    blue    2    10.11.2.20    fd00:2::20
    Create Dual Pod    c1    blue    1    10.11.1.10    fd00:1::10
    Create Dual Pod    c2    blue    2    10.11.2.10    fd00:2::10
    Create And Plug Pod    c3    red    1    10.11.1.30    10.11.1.1
    Create And Plug Pod    c4    red    2    10.11.2.30    10.11.2.1
    Ping Should Pass    blue:c1    10.11.2.20    30
    Ping Should Pass    blue:c2    10.11.1.20    30
    FOR    ${pod}    IN    blue:w1    blue:w2
        Start Server    ${pod}    TCP    8080
        Start Server    ${pod}    TCP    8080    v6
        Start Server    ${pod}    UDP    5353
    END
    Start Server    red:c3    TCP    7000

Create Dual Pod
    [Arguments]    ${name}    ${namespace}    ${node}    ${address}    ${v6}
    ${body}=    Dual Pod Body    ${name}    ${namespace}    ${node}    ${address}    ${v6}
    ${uid}=    Pod Uid    ${namespace}:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    Plug Pod    ${name}    ${namespace}    ${node}    ${address}/24    10.11.${node}.1
    Add Address    ${namespace}:${name}    ${v6}/64    fe80::1

Stop All
    Stop Servers
    Stop Lab

Put Service
    [Arguments]    ${uid}    ${name}    ${namespace}    ${address}    @{ports}    &{further}
    ${body}=    Service Body    ${uid}    ${name}    ${namespace}    ${address}    @{ports}    &{further}
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${uid}    json=${body}    params=${WAIT}    expected_status=any
    Should Be True    ${answer.status_code} in (200, 201)    ${answer.text}

Put Endpoints
    [Arguments]    ${uid}    ${name}    ${namespace}    ${addresses}    @{ports}
    ${body}=    Endpoints Body    ${uid}    ${name}    ${namespace}    ${addresses}    @{ports}
    ${answer}=    PUT On Session    coeus    ${ENDPOINTS}/${uid}    json=${body}    params=${WAIT}    expected_status=any
    Should Be True    ${answer.status_code} in (200, 201)    ${answer.text}
